"""The native protocol: long poll for deployments, results, heartbeats (docs/architecture.md)."""

import json
import logging
import time
from typing import Any, Dict, Optional

from calor.agent import PROTOCOL
from calor.agent.collecting import Collection, Collector
from calor.agent.deployments import parse_all
from calor.agent.identity import Identity, Refused
from calor.agent.settings import Settings
from calor.cfntools import httpclient

log = logging.getLogger("calor.agent.native")

EMPTY = (502, 503, 504)
MARGIN = 5.0


class Link:
    """Requests of this instance to its server, with its token."""

    def __init__(self, settings: Settings, identity: Identity) -> None:
        self._settings = settings
        self._identity = identity

    def call(self, method: str, path: str, body: Optional[Dict[str, Any]], timeout: float) -> httpclient.Answer:
        """Any answer but 401, which costs one new token and one more try."""
        url = "{}/guest/v1/instances/{}/{}".format(self._settings.server, self._settings.instance_id, path)
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        token = self._identity.token()
        answer = self._send(method, url, data, token, timeout)
        if answer.status == 401:
            answer = self._send(method, url, data, self._identity.token(refused=token), timeout)
        return answer

    def _send(self, method: str, url: str, data: Optional[bytes], token: str, timeout: float) -> httpclient.Answer:
        headers = {"Authorization": "Bearer " + token, "Accept": "application/json"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        return httpclient.request(method, url, data, headers, timeout, self._settings.trust)

    def post(self, path: str, body: Dict[str, Any], timeout: float = 30.0) -> httpclient.Answer:
        """Raises Refused for any answer that is not a success."""
        answer = self.call("POST", path, body, timeout)
        if not answer.ok:
            raise Refused(path, answer)
        return answer


class Native(Collector):
    """The long poll. A proxy that gives up on it (502, 504) has only cut a wait short."""

    name = "native"
    waits = True
    is_native = True

    def __init__(self, settings: Settings, link: Link) -> None:
        self._link = link
        self._wait = settings.wait
        self._since = 0
        self._warned = False

    def collect(self) -> Optional[Collection]:
        try:
            return self._poll()
        except (httpclient.TransportError, Refused):
            self._since = 0  # the server that answers next may know another history: ask it for everything
            raise

    def _poll(self) -> Optional[Collection]:
        begun = time.monotonic()
        path = "deployments?since={}&wait={}".format(self._since, int(self._wait))
        answer = self._link.call("GET", path, None, self._wait + MARGIN)
        if answer.status in EMPTY and time.monotonic() - begun > 1.0:
            return None
        if answer.status in (204, 304):
            if time.monotonic() - begun < min(1.0, self._wait / 2):
                time.sleep(min(1.0, self._wait / 2))  # a server that does not wait must not make us spin
            return None
        if answer.status != 200:
            raise Refused("polling", answer)
        return self._read(answer)

    def _read(self, answer: httpclient.Answer) -> Collection:
        try:
            found = json.loads(answer.text())
            version, protocol = int(found["version"]), int(found.get("protocol") or PROTOCOL)
        except (ValueError, KeyError, TypeError, AttributeError) as exc:
            raise httpclient.TransportError("polling: unreadable answer: {}".format(exc)) from exc
        if protocol != PROTOCOL and not self._warned:
            self._warned = True
            log.warning("the server speaks protocol %s, this agent %s", protocol, PROTOCOL)
        self._since = version
        return Collection(parse_all(found.get("deployments")), [str(one) for one in found.get("cancelled") or []])
