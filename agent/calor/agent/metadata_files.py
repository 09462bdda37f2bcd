"""The metadata of this instance, as os-apply-config merges it from files: those of os-collect-config, and what our
server handed out."""

import json
import os
import re
from typing import Any, Dict, Iterable, List, Set, Tuple

from calor.agent.deployments import DATA_GROUPS, Deployment
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


def paths(places: Places) -> List[str]:
    """The files that os-collect-config lists (or we in its place), then the configs of the groups without a hook that
    our server hands out, in their order."""
    found: List[str] = []
    for path in (places.under(FILE_LIST), _list(places)):
        listed = durable.read_json(path)
        found += [str(one) for one in listed] if isinstance(listed, list) else []
    return found


def collected(places: Places) -> Dict[str, Any]:
    """Fallback files first, then all the others; later ones win, maps are merged."""
    found = [*(places.under(path) for path in FALLBACK), *paths(places)]
    return merged(_read(path) for path in found if os.path.exists(path))


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


def data_of(deployments: Iterable[Deployment], taken: Set[str]) -> List[Tuple[str, Dict[str, Any]]]:
    """The configs (maps, or JSON text) of those that are data and nothing else, each with the name of a file, which
    is not ``taken`` before and is then."""
    found = []
    for one in deployments:
        config = _config(one) if one.group in DATA_GROUPS else {}
        if config:
            name = re.sub("[^A-Za-z0-9_.-]", "_", one.name)
            while name in taken:
                name += "_"
            taken.add(name)
            found.append((name + ".json", config))
    return found


def keep(places: Places, deployments: List[Deployment]) -> None:
    """Put down what of these is data, each config in a file of its own; the list of the files comes last."""
    found = [(os.path.join(places.ungrouped, name), config) for name, config in data_of(deployments, {"list"})]
    known = durable.read_json(_list(places)) or []
    for path, config in found:
        if durable.read_json(path) != config:
            durable.make_directory(places.ungrouped)
            durable.write_json(path, config)
    listed = [path for path, _ in found]
    if listed != known:
        durable.make_directory(places.ungrouped)
        durable.write_json(_list(places), listed)
    for path in set(known) - set(listed):
        durable.remove(path)


def _list(places: Places) -> str:
    return os.path.join(places.ungrouped, "list.json")


def _config(deployment: Deployment) -> Dict[str, Any]:
    config = deployment.config
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except ValueError:
            return {}
    return config if isinstance(config, dict) else {}
