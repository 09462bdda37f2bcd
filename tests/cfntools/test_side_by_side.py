"""heat-cfntools from PyPI and ours on the same metadata, each in a machine of its own; the trees are compared.

Where the two differ on purpose, the difference is one of the cases of the second test, with its reason.
"""

import fcntl
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.root]

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "calor" / "heat-cfntools-2.0.0"
INSTALLED = "opt/heat"
NOT_COMPARED = (
    "opt/heat",
    "opt/calor.pyz",
    "usr/bin/cfn-",
    "root/",
    "work/",
    "var/log/",
    "var/cache/",
    "var/lib/heat-cfntools",
    "var/lib/cfn-init",
    "var/lib/apt",
    "var/lib/dpkg",
    "var/lib/systemd",
    "etc/passwd-",
    "etc/shadow",
    "etc/group-",
    "etc/gshadow",
    "etc/subuid",
    "etc/subgid",
    "etc/.pwd.lock",
    "tmp/",
)
SCRIPT = """#!/bin/sh
### BEGIN INIT INFO
# Provides: hello
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
case "$1" in start) touch /started;; status) [ -e /started ];; esac
"""
PREPARE = r"""
set -e
mkdir -p /work/site/sub /build/DEBIAN /build/opt
cd /work
echo data >site/sub/file; chmod 750 site/sub; ln -s sub/file site/link
tar --sort=name --mtime=@0 -cf site.tar -C site .
gzip -nk site.tar; mv site.tar.gz site.tgz; bzip2 -k site.tar; xz -k site.tar
echo dump >dump.sql; gzip -n dump.sql
python3 -m zipfile -c site.zip site/sub
echo 1 >/build/opt/hello-deb
printf 'Package: hello-deb\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: x\n' >/build/DEBIAN/control
dpkg-deb --root-owner-group -b /build hello.deb; rm -r /build
{
    echo Filename: ./hello.deb; dpkg-deb -f hello.deb
    echo SHA256: $(sha256sum hello.deb | cut -c-64); echo Size: $(stat -c %s hello.deb)
} >Packages
apt-get -qq update
"""

ALIKE: dict[str, dict[str, Any]] = {
    "files": {
        "files": {
            "/srv/a/b/text": {"content": "héllo\n", "mode": "000640", "owner": "www-data", "group": "games"},
            "/srv/plain": {"content": "no end of line"},
            "/srv/fetched": {"source": "file:///work/site.tgz", "mode": "000600"},
        }
    },
    "accounts": {
        "groups": {"one": {"gid": "1500"}, "two": {}},
        "users": {"worker": {"uid": "1501", "groups": ["one", "two"]}},
    },
    "sources": {
        "sources": {
            "/srv/tgz": "file:///work/site.tgz",
            "/srv/tar": "file:///work/site.tar",
            "/srv/bz2": "file:///work/site.tar.bz2",
            "/srv/zip": "file:///work/site.zip",
            "/srv/gz": "file:///work/dump.sql.gz",
        }
    },
    "commands": {
        "commands": {
            "02": {"command": "echo two $A >>/order", "env": {"A": "b c"}},
            "01": {"command": ["sh", "-c", "echo one >>/order"]},
            "03": {"command": "exit 3", "ignoreErrors": "true"},
            "04": {"command": "echo $PWD >>/order", "cwd": "/srv", "test": "[ $PWD = /srv ]"},
            "05": {"command": "echo never >>/order", "test": "false"},
        }
    },
    "services": {
        "files": {"/etc/init.d/hello": {"content": SCRIPT, "mode": "000755"}},
        "services": {"sysvinit": {"hello": {"ensureRunning": "true"}}},
    },
    "apt": {"packages": {"apt": {"hello-deb": []}}},
}
CONFIG_SETS = {
    "configSets": {"default": ["first", "second"], "other": ["third"]},
    **{name: {"commands": {"1": {"command": f"echo {name} >>/order"}}} for name in ("first", "second", "third")},
}


@pytest.fixture(scope="session")
def theirs() -> Path:
    """heat-cfntools as released, with what it needs."""
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    with CACHE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not CACHE.exists():
            uv = Path(sys.executable).with_name("uv")
            pip = [str(uv), "pip"] if uv.exists() else [sys.executable, "-m", "pip"]
            half = CACHE.with_suffix(".partial")
            command = [*pip, "install", "--quiet", "--target", str(half), "heat-cfntools==2.0.0"]
            subprocess.run(command, check=True, capture_output=True, timeout=600)
            half.rename(CACHE)
    return CACHE


@pytest.fixture
def twins(new_machine, theirs):
    """(theirs, ours), each with the same archives, repository and metadata."""

    def made(init: dict[str, Any]):
        pair = []
        for name in ("theirs", "ours"):
            machine = new_machine(name)
            machine.write("/etc/apt/sources.list", "deb [trusted=yes] file:///work ./\n")
            machine.sh(PREPARE)
            metadata = json.dumps({"AWS::CloudFormation::Init": init})
            machine.write("/var/lib/heat-cfntools/cfn-init-data", metadata)
            pair.append(machine)
        subprocess.run(["cp", "-a", str(theirs), str(pair[0].upper / INSTALLED)], check=True)
        return pair

    return made


def run_theirs(machine, *options: str):
    command = "PYTHONPATH=/opt/heat python3 -B /opt/heat/bin/cfn-init " + " ".join(options)
    return machine.run("sh", "-c", command)


def tree(machine) -> dict[str, tuple[Any, ...]]:
    """What the machine has changed: kind, permissions, owner and content by path."""
    found = {}
    for path in machine.upper.rglob("*"):
        name = path.relative_to(machine.upper).as_posix()
        if (
            name.startswith(NOT_COMPARED)
            or "__pycache__" in name
            or any(one.startswith(name + "/") for one in NOT_COMPARED)
        ):
            continue
        about = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        found[name] = (stat.filemode(about.st_mode), about.st_uid, about.st_gid, content)
    return found


@pytest.mark.parametrize("name", sorted(ALIKE))
def test_the_same_metadata_makes_the_same_machine(twins, name):
    their, our = twins({"config": ALIKE[name]})
    one, other = run_theirs(their), our.run("cfn-init")
    assert (one.returncode, other.returncode) == (0, 0), one.stdout + one.stderr + other.stdout + other.stderr
    assert tree(their), "something was done"
    assert tree(our) == tree(their)


@pytest.mark.parametrize("options", [[], ["-c", "other"], ["-c", "other,default"]])
def test_config_sets_are_chosen_alike(twins, options):
    their, our = twins(CONFIG_SETS)
    assert (run_theirs(their, *options).returncode, our.run("cfn-init", *options).returncode) == (0, 0)
    assert tree(our) == tree(their)


DELIBERATE: dict[str, tuple[dict[str, Any], tuple[int, int], str]] = {
    "F079: a map as content is written as JSON": ({"files": {"/srv/x": {"content": {"a": 1}}}}, (1, 0), ""),
    "F081: an owner that is not known is an error": (
        {"files": {"/srv/x": {"content": "", "owner": "nosuch"}}},
        (0, 1),
        "",
    ),
    "F081: a directory that is not there is an error": (
        {"commands": {"1": {"command": "true", "cwd": "/no"}}},
        (0, 1),
        "",
    ),
    "a package that is not to be had is an error": ({"packages": {"apt": {"nosuch-package": []}}}, (0, 1), ""),
    "an unknown manager is an error": ({"packages": {"pacman": {"x": []}}}, (0, 1), ""),
    "a source of no known kind is an error": ({"sources": {"/srv/x": "/work/Packages"}}, (0, 1), ""),
    "xz archives are known": ({"sources": {"/srv/x": "file:///work/site.tar.xz"}}, (0, 0), "srv/x/sub/file"),
    "base64 is decoded": ({"files": {"/srv/x": {"content": "eA==", "encoding": "base64"}}}, (0, 0), ""),
    "a mode of 120000 makes a symbolic link": (
        {"files": {"/srv/x": {"content": "/work", "mode": "120644"}}},
        (0, 0),
        "",
    ),
    "a home directory is made": ({"users": {"worker": {"homeDir": "/srv/home"}}}, (0, 0), "srv/home"),
    "F078: users come before sources": (
        {"sources": {"/srv/home": "file:///work/site.tgz"}, "users": {"worker": {"homeDir": "/srv/home"}}},
        (0, 0),
        "srv/home/.profile",
    ),
}


@pytest.mark.parametrize("reason", list(DELIBERATE))
def test_where_the_two_differ_on_purpose_f078_f079_f081(twins, reason):
    config, codes, ours_alone = DELIBERATE[reason]
    their, our = twins({"config": config})
    one, other = run_theirs(their), our.run("cfn-init")
    assert (one.returncode, other.returncode) == codes, one.stderr + other.stdout + other.stderr
    assert tree(our) != tree(their) or codes[0] != codes[1]
    assert not ours_alone or (our.has("/" + ours_alone), their.has("/" + ours_alone)) == (True, False)
