"""The agent as one file: the same bytes each time, and it works under every Python at hand."""

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import interpreters
import pytest

from calor.server.engine.guests import agent_file

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def packed(tmp_path):
    return agent_file.build().save(tmp_path / "released")


def test_it_is_byte_identical_and_named_by_its_hash(packed):
    agent_file.build.cache_clear()
    again = agent_file.build()
    assert again.content == packed.read_bytes()
    assert again.sha256 == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert packed.name == f"agent-{again.sha256}.pyz"
    names = zipfile.ZipFile(packed).namelist()
    assert {"calor/", "calor/agent/", "calor/cfntools/", "calor/agent/hooks/", "__main__.py"} <= set(names)
    assert not [name for name in names if "__pycache__" in name or name == "calor/__init__.py"]


def test_it_holds_the_whole_trees(packed):
    names = set(zipfile.ZipFile(packed).namelist())
    for part in ("agent", "cfntools"):
        root = REPOSITORY / part
        tracked = [path for path in (root / "calor").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        assert {path.relative_to(root).as_posix() for path in tracked} <= names


@pytest.mark.slow
@pytest.mark.parametrize("python", interpreters.at_hand())
def test_it_applies_and_reports_under_this_python(packed, python, server, guest, deployment):
    init = {"config": {"files": {str(guest.root / "f"): {"content": {"é": 1}}}}}
    server.deploy(deployment("a", "#!/bin/sh\necho $word\n", inputs={"word": "é"}))
    server.deploy(deployment("c", init, group="cfn-init"), deployment("m", "", group="nosuch"))
    guest.start([python, "-I", "-S", str(packed), "run"])
    assert server.result("run-a")["outputs"]["deploy_stdout"] == "é\n", guest.console()
    assert server.result("run-c")["outputs"]["deploy_status_code"] == 0
    assert "no hook for group nosuch" in server.result("run-m")["reason"]
    guest.kill()


@pytest.mark.slow
@pytest.mark.parametrize("python", interpreters.at_hand())
def test_every_module_compiles_under_this_python(python, tmp_path):
    trees = [shutil.copytree(REPOSITORY / part, tmp_path / part) for part in ("agent", "cfntools")]
    subprocess.run([python, "-I", "-S", "-m", "compileall", "-q", *map(str, trees)], check=True)


def test_it_is_the_cloudformation_tools_by_name(packed, tmp_path):
    link = tmp_path / "cfn-signal"
    link.symlink_to(packed)
    for command in ([str(link)], [str(packed), "cfn-signal"]):
        done = subprocess.run(
            [sys.executable, "-I", "-S", *command, "--help"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0
        assert done.stdout.startswith("usage: cfn-signal")
