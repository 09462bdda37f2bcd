"""Which configs of an Init document are applied, and in which order."""

import json
from typing import Any, Dict, Iterator, List, Tuple


class UnknownConfig(Exception):
    """A config set or config that is asked for is not there, is empty, or holds itself."""


def resolve(init: Dict[str, Any], names: List[str]) -> List[Tuple[str, Dict[str, Any]]]:
    """The configs as (name, config). Without ``configSets`` it is the one named ``config``; with them the sets that
    are named, or the set ``default``."""
    sets = init.get("configSets")
    if not sets:
        if names:
            raise UnknownConfig("no configSets in the metadata, yet {} asked for".format(", ".join(names)))
        return [("config", _config(init, "config"))]
    if not isinstance(sets, dict):
        raise UnknownConfig("configSets must be a map")
    found = []
    for name in names or ["default"]:
        for config in _members(sets, name, []):
            found.append((config, _config(init, config)))
    return found


def _members(sets: Dict[str, Any], name: str, above: List[str]) -> Iterator[str]:
    if name not in sets:
        raise UnknownConfig("no config set {}; there are: {}".format(name, ", ".join(sorted(sets))))
    if name in above:
        raise UnknownConfig("config set {} holds itself: {}".format(name, " > ".join([*above, name])))
    members = [sets[name]] if isinstance(sets[name], (str, dict)) else sets[name]
    if not members:
        raise UnknownConfig("config set {} is empty".format(name))
    if not isinstance(members, list):
        raise UnknownConfig("config set {} must be a list".format(name))
    for member in members:
        if isinstance(member, dict) and list(member) == ["ConfigSet"]:
            for config in _members(sets, str(member["ConfigSet"]), [*above, name]):
                yield config
        elif isinstance(member, (str, int)) and not isinstance(member, bool):
            yield str(member)  # a name that YAML reads as a number
        else:
            words = 'config set {}: {} is neither the name of a config nor {{"ConfigSet": NAME}}'
            raise UnknownConfig(words.format(name, json.dumps(member)))


def _config(init: Dict[str, Any], name: str) -> Dict[str, Any]:
    """One that is there and empty does nothing."""
    if name not in init or name == "configSets":
        there = sorted(key for key in init if key != "configSets")
        raise UnknownConfig("no config {}; there are: {}".format(name, ", ".join(there) or "none"))
    config = init[name] or {}
    if not isinstance(config, dict):
        raise UnknownConfig("config {} must be a map".format(name))
    return config
