"""Keystone v3 by password, as OpenStack's own agents use it: a token and the orchestration endpoint."""

import json
from typing import Any, Dict, NamedTuple, Optional

from calor.agent.identity import Refused
from calor.cfntools import httpclient, tls


class Account(NamedTuple):
    """Who asks where; ``region`` is None for the first endpoint of the catalog (the text 'null' counts as none)."""

    auth_url: str
    user_id: str
    username: str
    password: str
    project_id: str
    region: Optional[str] = None


def account(values: Dict[str, Any], prefix: str = "") -> Optional[Account]:
    """The account among Heat's keys (``auth_url``, …; of a deployment's inputs with ``deploy_``); None if absent."""

    def word(*names: str) -> str:
        for name in names:
            value = values.get(prefix + name)
            if value not in (None, "", "null", "None"):
                return str(value)
        return ""

    auth_url, password = word("auth_url"), word("password")
    if not (auth_url and password):
        return None
    region = word("region_name") or None
    return Account(auth_url.rstrip("/"), word("user_id"), word("username"), password, word("project_id"), region)


class Session(NamedTuple):
    """A token and where to use it."""

    token: str
    endpoint: str

    def call(
        self,
        method: str,
        path: str,
        body: Optional[Dict[str, Any]],
        trust: tls.Trust,
        more: Optional[Dict[str, str]] = None,
    ) -> httpclient.Answer:
        headers = {"X-Auth-Token": self.token, "Accept": "application/json", "Content-Type": "application/json"}
        headers.update(more or {})
        data = None if body is None else json.dumps(body).encode("utf-8")
        return httpclient.request(method, self.endpoint.rstrip("/") + path, data, headers, 30.0, trust)


def log_in(who: Account, trust: tls.Trust, service: str = "orchestration") -> Session:
    """Raises Refused, or httpclient.TransportError (also for a catalog without an endpoint of the service)."""
    user: Dict[str, Any] = {"password": who.password}
    if who.user_id:
        user["id"] = who.user_id
    else:
        user.update(name=who.username, domain={"id": "default"})
    auth: Dict[str, Any] = {"identity": {"methods": ["password"], "password": {"user": user}}}
    if who.project_id:
        auth["scope"] = {"project": {"id": who.project_id}}
    url = who.auth_url
    if url.endswith("/v2.0"):
        url = url[: -len("/v2.0")]
    if not url.endswith("/v3"):
        url += "/v3"
    data = json.dumps({"auth": auth}).encode("utf-8")
    answer = httpclient.request("POST", url + "/auth/tokens", data, {"Content-Type": "application/json"}, 20.0, trust)
    if not answer.ok:
        raise Refused("Keystone at " + who.auth_url, answer)
    try:
        catalog = json.loads(answer.text())["token"].get("catalog") or []
    except (ValueError, KeyError, AttributeError) as exc:
        raise httpclient.TransportError("Keystone at {}: unreadable answer".format(who.auth_url)) from exc
    endpoint = _endpoint(catalog, service, who.region)
    token = answer.headers.get("x-subject-token", "")
    if not (endpoint and token):
        raise httpclient.TransportError("Keystone at {} names no {} endpoint".format(who.auth_url, service))
    return Session(token, endpoint)


def _endpoint(catalog: Any, wanted: str, region: Optional[str]) -> str:
    for service in catalog:
        if service.get("type") != wanted:
            continue
        for endpoint in service.get("endpoints") or []:
            here = endpoint.get("region_id") or endpoint.get("region")
            if endpoint.get("interface") == "public" and (region is None or here == region):
                return str(endpoint.get("url") or "")
    return ""
