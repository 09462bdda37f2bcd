"""What the launcher is told: one boot of one server, as a JSON file. Standard library only."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """One overlay of the server's root: ``lowers`` topmost first."""

    target: str
    lowers: Sequence[str]
    upper: str
    work: str

    def options(self) -> str:
        """Mount options; colons and commas in paths are escaped as overlayfs wants it."""
        lowers = ":".join(_escaped(each) for each in self.lowers)
        return f"lowerdir={lowers},upperdir={_escaped(self.upper)},workdir={_escaped(self.work)}"


@dataclass(frozen=True, kw_only=True)
class Device:
    """A disk of the server: the node ``/dev/<name>``."""

    name: str
    major: int
    minor: int


@dataclass(frozen=True, kw_only=True)
class LaunchPlan:
    """``guest_files`` are put into /run/calor of the server: the init program and what it reads."""

    hostname: str
    root: str
    console: str
    overlays: Sequence[Overlay]
    devices: Sequence[Device]
    guest_files: Mapping[str, str]
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        path.touch(mode=0o600)
        path.write_text(json.dumps(asdict(self)))


def load(path: Path) -> LaunchPlan:
    raw = json.loads(path.read_text())
    raw["overlays"] = [Overlay(**each) for each in raw["overlays"]]
    raw["devices"] = [Device(**each) for each in raw["devices"]]
    return LaunchPlan(**raw)


def _escaped(path: str) -> str:
    for special in "\\:,":
        path = path.replace(special, "\\" + special)
    return path
