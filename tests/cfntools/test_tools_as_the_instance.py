"""An instance without a key pair: the tools ask the server with the identity of its Calor agent."""

import hashlib
import json
import os
import subprocess
import sys
from html import escape
from pathlib import Path

import pytest

from calor.agent import cfn_tools

ROOTS = ":".join(str(Path(__file__).resolve().parents[2] / part) for part in ("agent", "cfntools"))
METADATA = {"AWS::CloudFormation::Init": {"config": {"files": {}}}}
XML = f"<D><ResourceStatus>CREATE_COMPLETE</ResourceStatus><Metadata>{escape(json.dumps(METADATA))}</Metadata></D>"
TOKEN = (200, b'{"token": "t1", "expires_in": 600}')


@pytest.fixture
def guest(tmp_path, listener, monkeypatch):
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path))
    identity = {"server": listener.url, "instance_id": "i-1", "bootstrap_token": "boot"}
    (tmp_path / "etc/calor").mkdir(parents=True)
    (tmp_path / "etc/calor/agent.json").write_text(json.dumps(identity))
    return tmp_path


def test_metadata_is_read_with_the_agents_identity(guest, listener, capsys):
    listener.answers = [(200, b"{}"), TOKEN, (200, XML.encode())]
    assert cfn_tools.run("cfn-get-metadata", ["-s", "st", "-r", "res"]) == 0
    assert json.loads(capsys.readouterr().out) == METADATA
    enrolled, minted, asked = ((path, json.loads(body)) for _, path, body in listener.requests)
    assert enrolled[0] == "/guest/v1/instances/i-1/enrol"
    assert enrolled[1]["secret_hash"] == hashlib.sha256(minted[1]["secret"].encode()).hexdigest()
    assert asked == (
        "/guest/v1/instances/i-1/cfn",
        {"Action": "DescribeStackResource", "StackName": "st", "LogicalResourceId": "res"},
    )
    assert listener.headers[-1]["Authorization"] == "Bearer t1"


def test_a_resource_is_signalled_and_a_refusal_is_told(guest, listener, capsys):
    listener.answers = [(200, b"{}"), TOKEN, (200, b"<SignalResourceResponse/>")]
    words = ["--stack", "st", "--resource", "res", "-s", "true", "-i", "x"]
    assert cfn_tools.run("cfn-signal", words) == 0
    assert json.loads(listener.requests[-1][2])["Status"] == "SUCCESS"
    listener.answers = [TOKEN, (403, b'{"error": {"message": "An instance may signal only its own."}}')]
    assert cfn_tools.run("cfn-signal", words) == 1
    assert "answered 403: An instance may signal only its own." in capsys.readouterr().err
    listener.answers = [(401, b"{}"), (403, b"{}")]
    assert cfn_tools.run("cfn-signal", words) == 1
    assert "refuses the bootstrap token" in capsys.readouterr().err


def test_without_an_identity_there_is_none_to_use(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path))
    assert cfn_tools.run("cfn-init", ["-s", "st", "-r", "res"]) == 1
    assert "no identity of a Calor agent" in capsys.readouterr().err
    assert not (tmp_path / "var/lib/calor").exists()
    assert cfn_tools.run("cfn-push-stats", []) == 2


@pytest.mark.slow
def test_the_agent_and_a_tool_that_come_first_together_have_one_secret(tmp_path: Path):
    state = tmp_path / "state"
    make = (
        "import sys; from calor.agent.identity import *; Identity(Settings('http://127.0.0.1:9', 'i-1'), sys.argv[1])"
    )
    environment = {**os.environ, "PYTHONPATH": ROOTS}
    begun = [subprocess.Popen([sys.executable, "-c", make, str(state)], env=environment) for _ in range(6)]
    assert [one.wait(60) for one in begun] == [0] * 6
    assert (state / "secret").read_text() == (state / "secret.copy").read_text()
