"""The one object that all services of a dev cloud share: documents, tokens, driver, faults and where files lie."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calor.server.devcloud.calls import Call, Token
from calor.server.devcloud.documents import Documents
from calor.server.devcloud.driver import GUEST_API_ADDRESS, KNOWN_GUEST_PORTS, Driver
from calor.server.devcloud.faults import Faults
from calor.server.devcloud.keystone.tokens import Tokens

if TYPE_CHECKING:
    from calor.server.devcloud.calls import Service

REGION = "RegionOne"
INTERFACES = ("public", "internal", "admin")


@dataclass(kw_only=True)
class Cloud:
    """``orchestration`` and ``cfn`` are the base URLs of a Calor server for the catalog, without path.

    ``images`` are the root file systems at hand, by image name.
    """

    state: Path
    docs: Documents
    driver: Driver
    tokens: Tokens
    orchestration: str
    cfn: str
    admin_token: str = field(repr=False)
    faults: Faults = field(default_factory=Faults)
    services: "tuple[Service, ...]" = ()
    image_paths: Mapping[str, Path] = field(default_factory=dict)

    @property
    def volumes(self) -> Path:
        return self.state / "volumes"

    @property
    def objects(self) -> Path:
        return self.state / "objects"

    @property
    def images(self) -> Path:
        return self.state / "images"

    def catalog(self, call: Call, token: Token) -> list[dict[str, Any]]:
        """The service catalog as this client reaches us: a guest gets addresses that work for guests."""
        project = token.project_id
        entries = [
            (service.type, service.name, call.url(service.endpoint.format(project_id=project)))
            for service in self.services
        ]
        entries += [
            (alias, service.name + "-" + alias, call.url(service.endpoint.format(project_id=project)))
            for service in self.services
            for alias in service.aliases
        ]
        inside = call.request.host.partition(":")[0] == GUEST_API_ADDRESS
        orchestration = _for_guests("orchestration", self.orchestration) if inside else self.orchestration
        cfn = _for_guests("cfn", self.cfn) if inside else self.cfn
        entries.append(("orchestration", "calor", f"{orchestration}/v1/{project}"))
        entries.append(("cloudformation", "calor-cfn", f"{cfn}/v1"))
        return [_entry(*entry) for entry in entries]


def _for_guests(name: str, outside: str) -> str:
    return f"{outside.partition(':')[0]}://{GUEST_API_ADDRESS}:{KNOWN_GUEST_PORTS[name]}"


def _entry(kind: str, name: str, url: str) -> dict[str, Any]:
    endpoints = [
        {"id": _stable_id(kind, side), "interface": side, "region_id": REGION, "region": REGION, "url": url}
        for side in INTERFACES
    ]
    return {"endpoints": endpoints, "id": _stable_id(kind), "type": kind, "name": name}


def _stable_id(*parts: str) -> str:
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:32]
