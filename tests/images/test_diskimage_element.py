"""diskimage-builder, from PyPI, with our element, to its end: a tree of files, so that no loop device is needed."""

import json
import os
import subprocess
import tarfile
from pathlib import Path

import from_pypi
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.root]

ELEMENTS = Path(__file__).resolve().parents[2] / "agent/diskimage-builder"
MIRROR = "http://deb.debian.org/"
SCRIPT = "#!/bin/sh\nprintf 'in Debian '\ncat /etc/debian_version\n"
INSIDE = r"""
mount -t proc proc "$1/proc" && mount --bind /dev/null "$1/dev/null"
exec chroot "$1" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -ec "$2"
"""


@pytest.fixture(scope="module")
def tree(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the image holds."""
    assert pytestconfig.cache is not None
    builder = from_pypi.environment(pytestconfig.cache.mkdir("diskimage-builder"), "diskimage-builder")
    work = tmp_path_factory.mktemp("dib")
    environment = {
        "PATH": f"{builder}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(work),
        "TMPDIR": str(work),
        "ELEMENTS_PATH": str(ELEMENTS),
        "DIB_RELEASE": "bookworm",
        "DIB_DISTRIBUTION_MIRROR": MIRROR + "debian",
        "DIB_DEBIAN_SECURITY_MIRROR": MIRROR + "debian-security",
        **{name: os.environ[name] for name in ("http_proxy", "https_proxy", "no_proxy") if name in os.environ},
    }
    command = [
        "disk-image-create",
        "-t",
        "tar",
        "-o",
        str(work / "image"),
        "--no-tmpfs",
        "debian-minimal",
        "calor-agent",
    ]
    with (work / "log").open("wb") as log:
        done = subprocess.run(command, env=environment, stdout=log, stderr=log, cwd=work, timeout=3600, check=False)
    assert done.returncode == 0, (work / "log").read_text(errors="replace")[-5000:]
    with tarfile.open(work / "image.tar") as packed:
        packed.extractall(work / "tree", filter="fully_trusted")
    (work / "image.tar").unlink()
    return work / "tree"


def inside(tree: Path, script: str) -> str:
    (tree / "proc").mkdir(exist_ok=True)
    (tree / "dev").mkdir(exist_ok=True)
    (tree / "dev/null").touch()
    apart = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--net", "--kill-child"]
    command = [*apart, "/bin/sh", "-ec", INSIDE, "sh", str(tree), script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_image_starts_the_agent_at_boot_and_has_the_tools(tree: Path) -> None:
    assert inside(tree, "calor-agent version").startswith("calor-agent ")
    assert inside(tree, "systemctl is-enabled calor-agent") == "enabled\n"
    inside(tree, "for tool in cloud-init cfn-init cfn-signal cfn-hup cfn-get-metadata; do command -v $tool; done")
    assert inside(tree, "stat -c '%U %a' /opt/calor/lib/calor /var/lib/calor") == "root 755\nroot 700\n"


def test_the_agent_in_the_image_applies_a_deployment(tree: Path) -> None:
    one = {"id": "c", "name": "n", "group": "script", "config": SCRIPT, "inputs": [], "outputs": []}
    data = tree / "var/lib/os-collect-config/local-data"
    data.mkdir(parents=True)
    (data / "1.json").write_text(json.dumps({"deployments": [one]}))
    (tree / "etc/os-collect-config.conf").write_text("[DEFAULT]\ncollectors = local\n")
    inside(tree, "calor-agent once")
    assert inside(tree, "cat /var/lib/calor/runs/*/attempt-1/stdout").startswith("in Debian 12")
