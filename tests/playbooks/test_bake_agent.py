"""bake-agent.yml and the example playbook, run by the real ansible-playbook."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
ANSIBLE = Path(sys.executable).with_name("ansible-playbook")


def play(playbook: Path, *prefix: str, **variables: object) -> subprocess.CompletedProcess[str]:
    extra = json.dumps({"ansible_python_interpreter": sys.executable, **variables})
    command = [*prefix, str(ANSIBLE), "-i", "localhost,", "-c", "local", "-e", extra, str(playbook)]
    environment = dict(os.environ, ANSIBLE_NOCOLOR="1", ANSIBLE_LOCALHOST_WARNING="false", LC_ALL="C.UTF-8")
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


def file_system(root: Path, *, systemd: bool = False) -> Path:
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/python3").symlink_to("/usr/bin/python3")
    if systemd:
        (root / "usr/lib/systemd").mkdir(parents=True)
        (root / "usr/lib/systemd/systemd").touch()
    return root


def test_bakes_two_trees_commands_and_the_unit_into_a_file_system(tmp_path: Path) -> None:
    root = file_system(tmp_path / "root", systemd=True)
    first = play(PLAYBOOKS / "bake-agent.yml", calor_root=str(root))
    assert first.returncode == 0, first.stdout + first.stderr
    assert (root / "opt/calor/lib/calor/agent/__init__.py").exists()
    assert (root / "opt/calor/lib/calor/cfntools/__init__.py").exists()
    assert not list(root.rglob("__pycache__"))
    assert not (root / "opt/calor/lib/calor/__init__.py").exists()
    for command in ("calor-agent", "cfn-init", "cfn-signal", "cfn-get-metadata"):
        assert os.access(root / "usr/local/bin" / command, os.X_OK)
    assert (root / "var/lib/calor").stat().st_mode & 0o7777 == 0o700
    wants = root / "etc/systemd/system/multi-user.target.wants/calor-agent.service"
    assert os.readlink(wants) == "/etc/systemd/system/calor-agent.service"
    again = play(PLAYBOOKS / "bake-agent.yml", calor_root=str(root))
    assert "changed=0" in again.stdout, again.stdout


def test_an_image_with_cfn_commands_and_without_systemd_keeps_what_it_has(tmp_path: Path) -> None:
    root = file_system(tmp_path / "root")
    (root / "usr/bin/cfn-init").touch()
    done = play(PLAYBOOKS / "bake-agent.yml", calor_root=str(root))
    assert done.returncode == 0, done.stdout
    assert not (root / "usr/local/bin/cfn-init").exists()
    assert not (root / "etc/systemd").exists()


def test_a_file_system_without_python_is_refused(tmp_path: Path) -> None:
    done = play(PLAYBOOKS / "bake-agent.yml", calor_root=str(tmp_path))
    assert done.returncode != 0
    assert "the agent needs Python 3.6 or newer there" in done.stdout


@pytest.mark.root
def test_the_baked_command_runs_in_the_file_system(tmp_path: Path) -> None:
    root = file_system(tmp_path / "root")
    assert play(PLAYBOOKS / "bake-agent.yml", calor_root=str(root)).returncode == 0
    inside = 'mount --bind "$1/opt" /opt && exec /usr/bin/python3 -IS "$1/usr/local/bin/calor-agent" version'
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", inside, "sh", str(root)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=30)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.root
def test_the_example_publishes_its_page_and_hands_back_the_output(tmp_path: Path) -> None:
    """In a network of its own, where the web server ends with its process tree."""
    alone = (
        "unshare",
        "--net",
        "--pid",
        "--mount-proc",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        'ip link set lo up; "$@"',
        "sh",
    )
    done = play(
        PLAYBOOKS / "static-page.yml",
        *alone,
        static_page_folder=str(tmp_path / "page"),
        static_page_starter=str(tmp_path / "boot/start"),
        static_page_text="a < b & é",
        heat_outputs_path=str(tmp_path / "output"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "page/index.html").read_bytes()
    assert "<p>a &lt; b &amp; é</p>" in page.decode()
    assert (tmp_path / "output.page_sha256").read_text() == hashlib.sha256(page).hexdigest()


def test_the_installed_package_bakes_as_the_checkout_does(tmp_path: Path) -> None:
    """In a wheel the playbooks lie beside the two trees."""
    site = tmp_path / "site"
    for tree in ("agent", "cfntools"):
        shutil.copytree(PLAYBOOKS.parent / tree / "calor" / tree, site / "calor" / tree)
    shutil.copytree(PLAYBOOKS, site / "calor/playbooks")
    root = file_system(tmp_path / "root")
    done = play(site / "calor/playbooks/bake-agent.yml", calor_root=str(root))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (root / "opt/calor/lib/calor/agent/__init__.py").exists()
