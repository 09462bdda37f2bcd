"""Messages of the messaging service (Zaqar v2) to and from this instance, with a Keystone password."""

import json
import uuid
from typing import Any, Dict, List, NamedTuple, Optional
from urllib.parse import quote

from calor.agent import keystone
from calor.agent.identity import Refused
from calor.cfntools import httpclient, tls

LIST = "echo=true&limit=20"


class Message(NamedTuple):
    id: str
    body: Any


class Queue:
    """One queue. Messages are looked at, and removed once what they say is on disk."""

    def __init__(self, who: keystone.Account, name: str, trust: tls.Trust) -> None:
        self._who, self._path, self._trust = who, "/queues/" + quote(name, safe=""), trust
        self._client = {"Client-ID": str(uuid.uuid4())}
        self._session: Optional[keystone.Session] = None

    def post(self, body: Any, ttl: int) -> None:
        """Raises Refused or httpclient.TransportError."""
        self._call("POST", "/messages", {"messages": [{"body": body, "ttl": ttl}]})

    def messages(self) -> List[Message]:
        """Those that lie there (the first twenty), oldest first."""
        answer = self._call("GET", "/messages?" + LIST, None)
        try:
            found = json.loads(answer.text() or "{}").get("messages") or []
            return [Message(_id_of(one), one.get("body")) for one in found]
        except (ValueError, AttributeError, KeyError) as exc:
            raise httpclient.TransportError("the queue's answer cannot be read: {}".format(exc)) from exc

    def remove(self, message: Message) -> None:
        self._call("DELETE", "/messages/" + quote(message.id, safe=""), None)

    def _call(self, method: str, path: str, body: Optional[Dict[str, Any]]) -> httpclient.Answer:
        answer = self._ask(method, path, body)
        if answer.status == 401:
            self._session = None
            answer = self._ask(method, path, body)
        if not answer.ok:
            raise Refused("queue", answer)
        return answer

    def _ask(self, method: str, path: str, body: Optional[Dict[str, Any]]) -> httpclient.Answer:
        if self._session is None:
            self._session = keystone.log_in(self._who, self._trust, "messaging")
        version = "" if self._session.endpoint.rstrip("/").endswith("/v2") else "/v2"
        return self._session.call(method, version + self._path + path, body, self._trust, self._client)


def _id_of(message: Dict[str, Any]) -> str:
    return str(message.get("id") or message["href"].split("?")[0].rsplit("/", 1)[1])
