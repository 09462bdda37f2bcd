"""Who this instance is: a secret of its own, enrolled once, and the short tokens minted from it."""

import fcntl
import json
import logging
import os
import threading
import time
from typing import Any, Dict, Optional

from calor.agent.settings import Settings
from calor.cfntools import durable, httpclient
from calor.cfntools.digest import sha256_hex

log = logging.getLogger("calor.agent.identity")

EARLY = 60.0


class Refused(Exception):
    """The server answered with an error; ``status`` is the HTTP status."""

    def __init__(self, what: str, answer: httpclient.Answer) -> None:
        super(Refused, self).__init__("{}: the server answered {}: {}".format(what, answer.status, _detail(answer)))
        self.status = answer.status

    @property
    def is_final(self) -> bool:
        """Whether the same request can never succeed."""
        return 400 <= self.status < 500 and self.status not in (401, 408, 425, 429)


class NotEnrolled(Exception):
    """The server does not take this instance for the one it is meant to be; the message says what to do."""


class Identity:
    """The instance's secret in ``STATE/secret`` (and a copy, should a crash damage it), and its current token."""

    def __init__(self, settings: Settings, state: str) -> None:
        self._settings = settings
        self._paths = [os.path.join(state, "secret"), os.path.join(state, "secret.copy")]
        self._enrolled = os.path.join(state, "enrolled")
        self._lock = threading.Lock()
        self._token = ""
        self._expires = 0.0
        durable.make_directory(state)
        with open(os.path.join(state, "secret.lock"), "a", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the agent and a tool may come first at the same moment
            self._secret = self._load() or self._make()

    def token(self, refused: str = "") -> str:
        """A bearer token; a new one if the current is about to expire or is the ``refused`` one."""
        with self._lock:
            if self._token and self._token != refused and time.monotonic() < self._expires:
                return self._token
            answer = self._mint()
            self._token = str(answer["token"])
            lives = float(answer.get("expires_in") or 300)
            self._expires = time.monotonic() + max(lives - EARLY, lives / 2)
            return self._token

    def _mint(self) -> Dict[str, Any]:
        if durable.read_json(self._enrolled) != self._hash():
            self._enrol()
        answer = self._post("token", {"secret": self._secret})
        if answer.status == 401:
            self._enrol()
            answer = self._post("token", {"secret": self._secret})
        if not answer.ok:
            raise Refused("minting a token", answer)
        found = _map(answer)
        if not found.get("token"):
            raise httpclient.TransportError("minting a token: the answer holds no token")
        return found

    def _enrol(self) -> None:
        answer = self._post("enrol", {"bootstrap_token": self._settings.bootstrap_token, "secret_hash": self._hash()})
        if answer.status == 403:
            raise NotEnrolled("the server refuses the bootstrap token of /etc/calor/agent.json: " + _detail(answer))
        if answer.status == 409:
            raise NotEnrolled(
                "another secret is enrolled for this instance (a copy of its disk, or its state directory was lost); "
                "rebuild the server to enrol anew: " + _detail(answer)
            )
        if not answer.ok:
            raise Refused("enrolling", answer)
        log.info("enrolled as instance %s", self._settings.instance_id)
        try:
            durable.write_json(self._enrolled, self._hash())
        except OSError as exc:  # then it enrols once more, which changes nothing
            log.warning("that this instance is enrolled cannot be noted: %s", exc)

    def _post(self, what: str, body: Dict[str, Any]) -> httpclient.Answer:
        url = "{}/guest/v1/instances/{}/{}".format(self._settings.server, self._settings.instance_id, what)
        data = json.dumps(body).encode("utf-8")
        headers = {"Content-Type": "application/json"}
        return httpclient.request("POST", url, data, headers, timeout=20, trust=self._settings.trust)

    def _hash(self) -> str:
        return sha256_hex(self._secret.encode("ascii"))

    def _load(self) -> Optional[str]:
        for path in self._paths:
            found = durable.read_map(path)
            if found.get("instance_id") == self._settings.instance_id and len(str(found.get("secret"))) == 64:
                for other in self._paths:
                    if durable.read_map(other) != found:
                        durable.write_json(other, found)
                return str(found["secret"])
        return None

    def _make(self) -> str:
        secret = os.urandom(32).hex()
        for path in self._paths:
            durable.write_json(path, {"instance_id": self._settings.instance_id, "secret": secret})
        return secret


def _map(answer: httpclient.Answer) -> Dict[str, Any]:
    try:
        found = json.loads(answer.text())
    except ValueError as exc:
        raise httpclient.TransportError("the answer is not JSON: {}".format(exc)) from exc
    return found if isinstance(found, dict) else {}


def _detail(answer: httpclient.Answer) -> str:
    """The message of Heat's error body, else the first characters of whatever came."""
    try:
        found = json.loads(answer.text())
        return str(found["error"]["message"])[:500]
    except (ValueError, KeyError, TypeError):
        return answer.text()[:200]
