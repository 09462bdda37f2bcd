"""What runs, on disk: found again when the cloud's process has died and come back."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from calor.server.devcloud.sandbox.processes import Process


@dataclass(frozen=True)
class Plugged:
    network_id: str
    device: str


@dataclass(frozen=True)
class Attached:
    loop: str
    path: str
    name: str


@dataclass(frozen=True)
class Running:
    """One boot of one server: its first process and all that was set up for it outside its namespaces.

    ``kind`` is sandbox, or vm: then the process is QEMU and a volume has no loop device."""

    process: Process
    ports: dict[str, Plugged] = field(default_factory=dict)
    volumes: dict[str, Attached] = field(default_factory=dict)
    kind: str = "sandbox"

    def with_port(self, port_id: str, plugged: Plugged) -> "Running":
        return replace(self, ports={**self.ports, port_id: plugged})

    def without_port(self, port_id: str) -> "Running":
        return replace(self, ports={key: value for key, value in self.ports.items() if key != port_id})

    def with_volume(self, volume_id: str, attached: Attached) -> "Running":
        return replace(self, volumes={**self.volumes, volume_id: attached})

    def without_volume(self, volume_id: str) -> "Running":
        return replace(self, volumes={key: value for key, value in self.volumes.items() if key != volume_id})

    def free_device(self) -> str:
        taken = {each.device for each in self.ports.values()}
        return next(name for name in (f"eth{number}" for number in range(len(taken) + 1)) if name not in taken)

    def save(self, path: Path) -> None:
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(self)))
        partial.replace(path)


def load(path: Path) -> Running | None:
    """None where nothing was started."""
    try:
        raw = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return Running(
        process=Process(**raw["process"]),
        ports={key: Plugged(**value) for key, value in raw["ports"].items()},
        volumes={key: Attached(**value) for key, value in raw["volumes"].items()},
        kind=raw.get("kind", "sandbox"),
    )
