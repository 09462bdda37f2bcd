"""The metadata of a resource: from the CloudFormation API, else from what lies on disk."""

import json
import os
from typing import Any, Dict, List, NamedTuple, Optional

from calor.cfntools import credentials, ec2, httpclient

CACHE = "/var/cache/heat-cfntools/last_metadata"
BOOT = "/var/lib/heat-cfntools/cfn-init-data"


class NoMetadata(Exception):
    """No source has metadata; the message names each and why."""


class Wanted(NamedTuple):
    """Which resource, and how to ask for it."""

    stack: Optional[str] = None
    resource: Optional[str] = None
    url: Optional[str] = None
    access_key: Optional[str] = None
    secret_key: Optional[str] = None
    credential_file: Optional[str] = None
    root: str = "/"

    def under(self, path: str) -> str:
        return os.path.join(self.root, path.lstrip("/"))


def retrieve(wanted: Wanted) -> Dict[str, Any]:
    """The metadata; what the API gave is kept on disk for the next time it cannot be asked. Raises NoMetadata."""
    problems: List[str] = []
    found = _from_api(wanted, problems)
    if found is not None:
        _keep(wanted, found)
        return found
    paths = [wanted.under(CACHE), wanted.under(BOOT)]
    if wanted.resource:
        paths.insert(0, wanted.under(CACHE + "_" + wanted.resource))
    for path in paths:
        try:
            return load(path)
        except (OSError, ValueError, NoMetadata) as exc:
            problems.append("{}: {}".format(path, getattr(exc, "strerror", None) or exc))
    raise NoMetadata("no metadata: " + "; ".join(problems))


def load(path: str) -> Dict[str, Any]:
    with open(path, encoding="utf-8") as source:
        found = json.load(source)
    if not isinstance(found, dict):
        raise NoMetadata("{} is not a JSON map".format(path))
    return found


def _from_api(wanted: Wanted, problems: List[str]) -> Optional[Dict[str, Any]]:
    if not (wanted.stack and wanted.resource):
        return None
    keys = (wanted.access_key, wanted.secret_key)
    endpoint = credentials.find_endpoint(wanted.url, keys, wanted.credential_file, wanted.root)
    if endpoint is None:
        problems.append("CloudFormation API: no address or no EC2 key pair")
        return None
    try:
        return ec2.describe_stack_resource(endpoint, wanted.stack, wanted.resource)
    except (httpclient.TransportError, ec2.ApiRefused) as exc:
        problems.append(str(exc))
        return None


def _keep(wanted: Wanted, found: Dict[str, Any]) -> None:
    for path in (wanted.under(CACHE), wanted.under("{}_{}".format(CACHE, wanted.resource))):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        half = path + ".new"
        handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as target:
            json.dump(found, target)
        os.replace(half, path)


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
