"""The metadata of a resource: from the CloudFormation API, else from what lies on disk."""

import json
import os
from typing import Any, Dict, List, NamedTuple, Optional

from calor.cfntools import access, authorities, cloudformation, credentials, durable, httpclient, retrying
from calor.cfntools.narration import Narrator

CACHE = "/var/cache/heat-cfntools/last_metadata"
SHOWN = "/var/lib/cfn-init/data/metadata.json"
PATIENCE = 8.0


class NoMetadata(Exception):
    """No source has metadata; the message names each and why."""


class Wanted(NamedTuple):
    """Which resource, and how to ask for it."""

    stack: Optional[str] = None
    resource: Optional[str] = None
    given: credentials.Given = credentials.Given()


def retrieve(wanted: Wanted, native: access.Native, narrator: Narrator) -> Dict[str, Any]:
    """The metadata; what the API gave is kept on disk for the next time it cannot be asked. Raises NoMetadata."""
    problems: List[str] = []
    found = _from_api(wanted, native, problems)
    if found is not None:
        try:
            keep(wanted.given, str(wanted.resource), found)
        except OSError as exc:
            narrator.warn("the metadata is not kept for when the API is away: {}".format(exc))
        return found
    for path in [*cached(wanted.given, wanted.resource), *map(wanted.given.under, authorities.BOOT)]:
        try:
            kept = load(path)
        except (OSError, ValueError, NoMetadata) as exc:
            problems.append("{}: {}".format(path, getattr(exc, "strerror", None) or exc))
        else:
            if problems and wanted.stack:
                narrator.warn("{}; going on with {}".format("; ".join(problems), path))
            return kept
    raise NoMetadata("no metadata: " + "; ".join(problems))


def cached(given: credentials.Given, resource: Optional[str]) -> List[str]:
    """Where the metadata of last time is, the resource's own first."""
    own = [given.under("{}_{}".format(CACHE, resource))] if resource else []
    return [*own, given.under(CACHE)]


def load(path: str) -> Dict[str, Any]:
    with open(path, encoding="utf-8") as source:
        found = json.load(source)
    if not isinstance(found, dict):
        raise NoMetadata("{} is not a JSON map".format(path))
    return found


def _from_api(wanted: Wanted, native: access.Native, problems: List[str]) -> Optional[Dict[str, Any]]:
    if not (wanted.stack and wanted.resource):
        return None
    stack, resource = wanted.stack, wanted.resource
    try:
        ask = access.find(wanted.given, native)
        return retrying.patiently(
            lambda: cloudformation.describe_stack_resource(ask, stack, resource), PATIENCE
        ).metadata
    except credentials.Unreadable as exc:
        raise NoMetadata(str(exc)) from exc
    except (access.NoAccess, httpclient.TransportError, cloudformation.ApiRefused) as exc:
        if isinstance(exc, cloudformation.ApiRefused) and exc.is_gone:
            raise NoMetadata(str(exc)) from exc  # what lies on disk is another resource's, or of one that is no more
        problems.append(str(exc))
        return None


def keep(given: credentials.Given, resource: str, found: Dict[str, Any]) -> None:
    """Files that hold it already are left alone."""
    for path in cached(given, resource):
        if authorities.read_map(path) == found:
            continue
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        durable.write_json(path, found)


def show(root: str, document: Dict[str, Any], narrator: Narrator) -> None:
    """Leave what cfn-init applies where AWS's leaves it, for people and programs that look there."""
    path = os.path.join(root, SHOWN.lstrip("/"))
    try:
        durable.make_directory(os.path.dirname(path))
        if authorities.read_map(path) != document:
            durable.write(path, (json.dumps(document, indent=4, ensure_ascii=False) + "\n").encode("utf-8"))
    except OSError as exc:
        narrator.warn("{}: {}".format(path, exc.strerror))


def lookup(metadata: Any, key: str) -> Any:
    """The value at a dotted key; a part that holds dots stands in single quotes. None if there is none."""
    value = metadata
    for part in _parts(key):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def _parts(key: str) -> List[str]:
    parts, quoted, current = [], False, ""
    for character in key:
        if character == "'":
            quoted = not quoted
        elif character == "." and not quoted:
            parts.append(current)
            current = ""
        else:
            current += character
    return [*parts, current]
