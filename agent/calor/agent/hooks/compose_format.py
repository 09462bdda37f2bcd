"""The oldest format of compose files, a map of services and nothing else, as today's tools read it."""

import re
from typing import Any, Dict

LOGGING = (("log_driver", "driver"), ("log_opt", "options"))


def has_services(text: str) -> bool:
    """Whether a compose file in YAML has the key ``services`` and so is not of the oldest format."""
    return re.search(r"(?m)^(services|['\"]services['\"])\s*:", text) is not None


def modern(config: Dict[str, Any]) -> Dict[str, Any]:
    """The config with ``services``; one that has them is left alone."""
    if "services" in config or "version" in config:
        return config
    return {"services": {name: _service(one, config) if isinstance(one, dict) else one for name, one in config.items()}}


def _service(old: Dict[str, Any], services: Dict[str, Any]) -> Dict[str, Any]:
    found = dict(old)
    if "net" in found:
        found["network_mode"] = _network(str(found.pop("net")), services)
    if "dockerfile" in found:
        build = found.get("build")
        context = build if isinstance(build, str) else "."
        found["build"] = {"context": context, "dockerfile": found.pop("dockerfile")}
    for old_key, key in LOGGING:
        if old_key in found:
            found.setdefault("logging", {})
            found["logging"] = dict(found["logging"], **{key: found.pop(old_key)})
    if "volumes_from" in found:
        found["volumes_from"] = [_volumes_from(str(one), services) for one in found["volumes_from"]]
    return found


def _network(net: str, services: Dict[str, Any]) -> str:
    kind, _, name = net.partition(":")
    return "service:" + name if kind == "container" and name in services else net


def _volumes_from(value: str, services: Dict[str, Any]) -> str:
    name = value.partition(":")[0]
    return value if name in services or value.startswith("container:") else "container:" + value
