"""The service catalog, as a client reaches us."""

import hashlib
from typing import Any

from calor.server.devcloud.access import Token
from calor.server.devcloud.calls import Call
from calor.server.devcloud.driver import GUEST_API_ADDRESS, KNOWN_GUEST_PORTS

REGION = "RegionOne"
INTERFACES = ("public", "internal", "admin")


def service_catalog(call: Call, token: Token) -> list[dict[str, Any]]:
    """The service catalog as this client reaches us: a guest gets addresses that work for guests."""
    project = token.project_id
    entries = [
        (service.type, service.name, call.url(service.endpoint.format(project_id=project)))
        for service in call.cloud.services
    ]
    entries += [
        (alias, service.name + "-" + alias, call.url(service.endpoint.format(project_id=project)))
        for service in call.cloud.services
        for alias in service.aliases
    ]
    inside = call.request.host.partition(":")[0] == GUEST_API_ADDRESS
    orchestration = _for_guests("orchestration", call.cloud.orchestration) if inside else call.cloud.orchestration
    cfn = _for_guests("cfn", call.cloud.cfn) if inside else call.cloud.cfn
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
