"""Finds a server of the dev cloud by name or id, over its API with the admin's password."""

import json
import urllib.error
import urllib.request
from typing import Any

from calor.server.devcloud.state import DevState


class LookupFault(Exception):
    """The server was not found, or there are several; the text says what to do."""


def server_id(known: DevState, name: str) -> str:
    """Raises `LookupFault`."""
    user = {"name": "admin", "domain": {"id": "default"}, "password": known.passwords["admin"]}
    scope = {"project": {"name": "admin", "domain": {"id": "default"}}}
    auth = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}}
    base = f"http://127.0.0.1:{known.ports.cloud}"
    try:
        with _open(f"{base}/identity/v3/auth/tokens", body=auth) as answer:
            token = answer.headers["X-Subject-Token"]
        with _open(f"{base}/compute/v2.1/servers?all_tenants=1", token=token) as answer:
            servers = json.load(answer)["servers"]
    except urllib.error.URLError as exc:
        raise LookupFault(f"The dev cloud does not answer at {base}: {exc.reason}. Start it: calor dev") from exc
    found = [one["id"] for one in servers if one["id"] == name] or [one["id"] for one in servers if one["name"] == name]
    if not found:
        known_names = ", ".join(sorted(one["name"] for one in servers)) or "none"
        raise LookupFault(f"There is no server {name}. Servers are: {known_names}.")
    if len(found) > 1:
        raise LookupFault(f"Several servers are named {name}; give an id: {', '.join(found)}.")
    return str(found[0])


def _open(url: str, *, token: str = "", body: dict[str, Any] | None = None) -> Any:
    headers = {"Content-Type": "application/json", **({"X-Auth-Token": token} if token else {})}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers=headers)  # noqa: S310 - our own loopback URL
    return urllib.request.urlopen(request, timeout=10)  # noqa: S310
