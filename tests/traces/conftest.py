"""What a dev cloud has on this machine, found without asking it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

OF_THE_HOST = (
    ("ip", "-o", "link"),
    ("ip", "-o", "address"),
    ("ip", "route", "show", "table", "all"),
    ("ip", "-6", "route", "show", "table", "all"),
    ("ip", "rule"),
    ("ip", "-6", "rule"),
    ("ip", "netns"),
    ("nft", "list", "ruleset"),
)
SETTINGS = ("net/ipv4/ip_forward", "net/ipv4/conf/all/forwarding", "net/ipv4/conf/all/rp_filter", "kernel/hostname")


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def host() -> dict[str, str]:
    """Links, addresses, routes, rules, named namespaces and settings of the machine itself."""
    found = {" ".join(command): output(*command) for command in OF_THE_HOST}
    found |= {name: Path("/proc/sys", name).read_text() for name in SETTINGS if Path("/proc/sys", name).exists()}
    return found


def processes(state: Path) -> set[int]:
    """Processes that have a mount of the state directory's as their root, or name it on their command line."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            mounts = (entry / "mountinfo").read_text()
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if f"upperdir={state}/" in mounts or any(word.startswith(str(state)) for word in words):
            found.add(int(entry.name))
    return found


class Traces:
    """What of one state directory is on this machine. Each is empty where nothing is."""

    def __init__(self, state: Path) -> None:
        self.state = state

    def processes(self) -> set[int]:
        return processes(self.state)

    def mounts(self) -> list[str]:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        return [line.split()[4] for line in lines if str(self.state) in line]

    def loops(self) -> list[str]:
        lines = output("losetup", "--noheadings", "--output", "NAME,BACK-FILE").splitlines()
        return [line for line in lines if str(self.state) in line]

    def sandboxes(self) -> list[Path]:
        return list((self.state / "servers").glob("*"))

    def namespaces(self) -> list[str]:
        return sorted(path.name for path in (self.state / "run/netns").glob("*"))

    def groups(self) -> list[Path]:
        names = {path.name for path in self.sandboxes()}
        return [path for path in Path("/sys/fs/cgroup").glob("**/calor/*") if path.name in names]

    def anything(self) -> list[object]:
        found = (self.processes(), self.mounts(), self.loops(), self.sandboxes(), self.namespaces(), self.groups())
        return [each for each in found if each]


@pytest.fixture
def host_state() -> Callable[[], dict[str, str]]:
    return host


@pytest.fixture
def traces() -> type[Traces]:
    return Traces
