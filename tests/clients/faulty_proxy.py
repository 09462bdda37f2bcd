"""An HTTP proxy that treats requests as the worst of networks does, by a seed: between agents and a real server."""

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

import quiet_http

BEFORE = ("refused", "error")
"""The server never sees the request."""
AFTER = ("dropped", "cut", "error after")
"""The server has acted upon it, the agent does not learn so."""
TWICE = ("doubled", "doubled late")
SLOW = ("delayed", "answered late")
FAULTS = (*BEFORE, *AFTER, *TWICE, *SLOW)
ERRORS = (500, 502, 503, 504)
HOP = {"connection", "content-length", "transfer-encoding", "host", "date", "server"}


@dataclass(frozen=True)
class Sent:
    """A result as it passed on its way to the server, with what the server said to it."""

    run_id: str
    body: bytes
    status: int
    known: bool | None


@dataclass(frozen=True)
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes


class FaultyProxy:
    """``rate`` of the requests meet a fault, a third as often polls; ``target`` says where the server is now."""

    def __init__(self, target: Callable[[], str], seed: int, rate: float) -> None:
        self.target, self.rate = target, rate
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.faults: Counter[str] = Counter()
        self.sent: list[Sent] = []
        self._late: list[threading.Thread] = []
        self._http = quiet_http.Server(self.handle)
        self.url = self._http.url

    def close(self) -> None:
        self._http.close()

    def settle(self) -> None:
        """No faults from now on; returns once the requests that were held back have been sent."""
        self.rate = 0.0
        for thread in list(self._late):
            thread.join()

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        body = quiet_http.body_of(request)
        fault, pause, status = self._choose(request)
        if fault == "delayed":
            time.sleep(pause)
        answer = Answer(status, [], b"")
        if fault not in BEFORE:
            answer = self._forward(request, body)
        if fault == "doubled":
            answer = self._forward(request, body)
        if fault == "doubled late":
            self._again(request, body, pause)
        if fault == "answered late":
            time.sleep(pause)
        self._answer(request, answer, fault, status)

    def _choose(self, request: BaseHTTPRequestHandler) -> tuple[str, float, int]:
        with self.lock:
            rate = self.rate / 3 if request.command == "GET" else self.rate
            if self.random.random() >= rate:
                return "", 0.0, 0
            fault = self.random.choice(FAULTS)
            self.faults[fault] += 1
            return fault, self.random.uniform(0.1, 4.0), self.random.choice(ERRORS)

    def _forward(self, request: BaseHTTPRequestHandler, body: bytes) -> Answer:
        """What the server answers; 502 while there is none."""
        place = urlsplit(self.target())
        link = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP}
        try:
            link.request(request.command, request.path, body or None, headers)
            got = link.getresponse()
            answer = Answer(got.status, got.getheaders(), got.read())
        except (OSError, http.client.HTTPException):
            answer = Answer(502, [], b"")
        finally:
            link.close()
        if request.path.endswith("/results"):
            self._note(body, answer)
        return answer

    def _note(self, body: bytes, answer: Answer) -> None:
        known = json.loads(answer.body).get("known") if answer.status == 200 else None
        with self.lock:
            self.sent.append(Sent(json.loads(body)["run_id"], body, answer.status, known))

    def _again(self, request: BaseHTTPRequestHandler, body: bytes, pause: float) -> None:
        def later() -> None:
            time.sleep(pause)
            self._forward(request, body)

        if request.command == "POST":  # a poll sent again would only wait
            thread = threading.Thread(target=later, daemon=True)
            self._late.append(thread)
            thread.start()

    @staticmethod
    def _answer(request: BaseHTTPRequestHandler, answer: Answer, fault: str, status: int) -> None:
        if fault in ("refused", "dropped"):
            request.close_connection = True
            return
        if fault in ("error", "error after"):
            answer = Answer(status, [], b"")
        request.send_response(answer.status)
        for name, value in answer.headers:
            if name.lower() not in HOP:
                request.send_header(name, value)
        if answer.status != 204:
            request.send_header("Content-Length", str(len(answer.body)))
        request.end_headers()
        body: Any = answer.body
        if fault == "cut" and len(body) > 1:
            body, request.close_connection = body[: len(body) // 2], True
        request.wfile.write(body)
