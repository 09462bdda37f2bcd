"""The metadata of this instance, as os-apply-config merges it from files, and from what our server handed out."""

import json
import os
from typing import Any, Dict, Iterable, List

from calor.agent.deployments import Deployment
from calor.agent.places import Places
from calor.cfntools import durable

FILE_LIST = "/var/lib/os-collect-config/os_config_files.json"
FALLBACK = (
    "/var/cache/heat-cfntools/last_metadata",
    "/var/lib/heat-cfntools/cfn-init-data",
    "/var/lib/cloud/data/cfn-init-data",
)


class MetadataFault(Exception):
    """A file that is no JSON map; the message names it."""


def collected(places: Places) -> Dict[str, Any]:
    """Fallback files first, then those that os-collect-config lists, then the configs of the groups without a hook
    that the server hands out, in their order; later ones win, maps are merged."""
    listed = durable.read_json(places.under(FILE_LIST))
    paths = [places.under(path) for path in FALLBACK]
    paths += [str(path) for path in listed] if isinstance(listed, list) else []
    found = [_read(path) for path in paths if os.path.exists(path)]
    return merged([*found, *(durable.read_json(places.ungrouped) or [])])


def merged(documents: Iterable[Any]) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for document in documents:
        if isinstance(document, dict):
            found = _merge(found, document)
    return found


def _merge(old: Dict[str, Any], new: Dict[str, Any]) -> Dict[str, Any]:
    both = dict(old)
    for key, value in new.items():
        before = both.get(key)
        both[key] = _merge(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return both


def _read(path: str) -> Any:
    with open(path, "rb") as source:
        data = source.read()
    try:
        return json.loads(data.decode("utf-8"))
    except ValueError as exc:
        raise MetadataFault("could not parse metadata file {}: {}".format(path, exc)) from exc


def keep(places: Places, deployments: List[Deployment]) -> None:
    """Remember the configs (maps, or JSON text) of deployments that are data and nothing else."""
    found = [config for config in map(_config, deployments) if config]
    if found != (durable.read_json(places.ungrouped) or []):
        durable.write_json(places.ungrouped, found)


def _config(deployment: Deployment) -> Dict[str, Any]:
    config = deployment.config
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except ValueError:
            return {}
    return config if isinstance(config, dict) else {}
