"""What is built: the wheel works in a fresh environment, the agent's file needs nothing around it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dist")
    uv = Path(sys.executable).with_name("uv")
    if uv.exists():
        run(uv, "build", "--quiet", "--wheel", "--out-dir", place, ROOT, cwd=place)
    else:
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", place, ROOT, cwd=place)
    return next(place.glob("calor-*.whl"))


def test_the_wheel_holds_all_parts_and_joins_the_namespace(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in (
        "calor/server/__main__.py",
        "calor/agent/__main__.py",
        "calor/cfntools/init.py",
        "calor/cloudinit/guest/boot.py",
        "calor/cloudinit/templates/agent-boot.sh.j2",
        "calor/playbooks/bake-agent.yml",
        "calor/playbooks/roles/calor_agent/tasks/main.yml",
    ):
        assert wanted in names
    assert "calor/__init__.py" not in names
    assert [name for name in names if name.startswith("tests/") or "__pycache__" in name] == []


def test_the_guest_parts_install_without_a_dependency_and_answer_from_anywhere(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", venv, cwd=tmp_path)
    python = venv / "bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--no-index", wheel, cwd=tmp_path)
    assert run(venv / "bin/calor-agent", "version", cwd=tmp_path).strip()
    assert run(python, "-m", "calor.agent", "version", cwd=tmp_path).strip()
    assert "usage" in run(python, "-m", "calor.cfntools.signal", "--help", cwd=tmp_path).lower()


def test_the_agents_file_runs_isolated_on_every_python_at_hand(tmp_path: Path) -> None:
    from calor.server.engine.guests import agent_file

    place = tmp_path / "agent.pyz"
    place.write_bytes(agent_file.build().content)
    versions = sorted((Path.home() / ".pyenv/versions").glob("3.*/bin/python3"))
    for python in (Path(sys.executable), Path("/usr/bin/python3"), *versions):
        if python.exists():
            assert run(python, "-I", "-S", place, "version", cwd=tmp_path).strip(), python
