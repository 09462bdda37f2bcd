"""The tools from the agent's file, under every Python 3.6 or newer that is at hand."""

import io
import json
import os
import subprocess
import tarfile

import interpreters
import pytest

from calor.server.engine.guests import agent_file

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("python", interpreters.at_hand())
def test_cfn_init_applies_and_cfn_signal_and_cfn_hup_speak(python, tmp_path, listener):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as tar:
        tar.addfile(tarfile.TarInfo("sub"))
    listener.answers = [(200, packed.getvalue())]
    config = {
        "sources": {str(tmp_path / "out"): listener.url + "/x.txz"},
        "files": {
            str(tmp_path / "f"): {"content": "é {{#on}}{{a.b}}{{/on}}", "context": {"on": True, "a": {"b": "<"}}}
        },
        "commands": {
            "1": {"command": "sleep 30", "timeout": 0.3, "ignoreErrors": True},
            "2": {"command": "echo $A", "defaults": 'echo \'{"env": {"A": "given"}}\''},
        },
    }
    (tmp_path / "m.json").write_text(json.dumps({"AWS::CloudFormation::Init": {"config": config}}))
    tool = [python, "-I", "-S", str(agent_file.build().save(tmp_path / "released"))]
    environment = {**os.environ, "CALOR_ROOT": str(tmp_path), "LC_ALL": "C"}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*tool, *words], env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    done = run("cfn-init", str(tmp_path / "m.json"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "given",
        "sources: 1 changed, 0 unchanged",
        "files: 1 changed, 0 unchanged",
        "commands: 2 run, 0 skipped",
    ]
    assert "ended after its timeout of 0.3 s; ignored" in done.stderr
    assert (tmp_path / "f").read_bytes() == "é &lt;".encode()
    assert run("cfn-signal", "-i", "x", "-d", "ü", listener.url).returncode == 0
    assert json.loads(listener.requests[-1][2])["Status"] == "SUCCESS"
    assert "there is no main configuration" in run("cfn-hup").stderr
    assert run("cfn-get-metadata", "-s", "st", "-r", "res").returncode == 1
