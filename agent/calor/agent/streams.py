"""Sends what hooks print to the server while they run: in pieces with offsets, so that nothing is doubled or lost.

The server says how far it has come; that is the only state. Of a hook that prints faster than it is worth reading
only the newest is sent: the outputs of the result hold the rest.
"""

import base64
import json
import logging
import os
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from calor.agent.attempts import Attempt
from calor.agent.identity import NotEnrolled, Refused
from calor.agent.native import Link
from calor.cfntools import httpclient

log = logging.getLogger("calor.agent.streams")

PERIOD = 0.7
PAUSE_AFTER_FAULT = 3.0
BLOCK = 32 * 1024
BACKLOG = 256 * 1024
"""Bytes not yet sent of one stream beyond which what lies before is left out."""
MUTE = 3600.0
"""Seconds for which a server that does not take output is left alone."""
ERRORS = (Refused, NotEnrolled, httpclient.TransportError)

Current = Callable[[], Optional[Tuple[str, str, Attempt]]]
"""The run that goes on now: (run id, deployment id, attempt)."""


class Streams:
    """The output of the runs of this agent. ``flush`` may be called from another thread than ``follow``."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._offsets: Dict[str, Dict[str, int]] = {}
        self._tried: Dict[str, int] = {}
        self._unwanted = ""
        self._mute_until = 0.0

    def wake(self) -> None:
        self._news.set()

    def follow(self, current: Current, stop: threading.Event) -> None:
        """Send what is printed by whatever runs, until ``stop``."""
        former = None  # type: Optional[Tuple[str, str, Attempt]]
        while not stop.is_set():
            self._news.clear()
            found = current()
            try:
                if former is not None and (found is None or found[2].directory != former[2].directory):
                    self._send(former, final=True)
                if found is not None:
                    self._send(found, final=False)
            except ERRORS as exc:
                log.debug("output not delivered: %s", exc)
                stop.wait(PAUSE_AFTER_FAULT)
                continue
            former = found
            if found is None:
                self._news.wait()
            else:
                stop.wait(PERIOD)

    def flush(self, run_id: str, deployment_id: str, attempt: Attempt) -> None:
        """Send the rest of a run that has ended, as far as that can be done now: its result is not held up by it."""
        try:
            self._send((run_id, deployment_id, attempt), final=True)
        except ERRORS as exc:
            log.debug("the last output of %s was not delivered: %s", run_id, exc)

    def _send(self, run: Tuple[str, str, Attempt], final: bool) -> None:
        run_id, deployment_id, attempt = run
        with self._lock:
            while deployment_id and run_id != self._unwanted and time.monotonic() >= self._mute_until:
                sizes: Dict[str, int] = {}
                pieces = self._pieces(attempt, final, sizes)
                if not pieces:
                    return
                body = {"run_id": run_id, "deployment_id": deployment_id, "attempt": attempt.number}
                body.update(pieces=pieces, final=final)
                answer = self._post(body)
                self._tried = sizes
                if not self._taken(run_id, attempt, answer):
                    return

    def _post(self, body: Dict[str, Any]) -> Optional[httpclient.Answer]:
        """None from a server that knows nothing of output."""
        answer = self._link.call("POST", "output", body, 15.0)
        if answer.status in (404, 405):
            self._mute_until = time.monotonic() + MUTE
            return None
        if not answer.ok:
            raise Refused("sending output", answer)
        return answer

    def _taken(self, run_id: str, attempt: Attempt, answer: Optional[httpclient.Answer]) -> bool:
        """Go on from where the server is; False if it does not want more of this run, or took nothing."""
        if answer is None:
            return False
        try:
            wanted = json.loads(answer.text()).get("next")
            offsets = None if wanted is None else {str(name): int(end) for name, end in wanted.items()}
        except (ValueError, TypeError, AttributeError) as exc:
            raise httpclient.TransportError("sending output: unreadable answer: {}".format(exc)) from exc
        if offsets is None:
            self._unwanted = run_id
            return False
        former = self._offsets.get(attempt.directory)
        self._offsets = {attempt.directory: offsets}  # of one attempt: only one runs at a time
        return offsets != former

    def _pieces(self, attempt: Attempt, final: bool, sizes: Dict[str, int]) -> List[Dict[str, Any]]:
        """The next piece of each stream that has something new; ``sizes`` gets those of the files that are sent to
        their ends. What the server left for later (the beginning of a character, or of a secret) is sent again once
        there is more of it."""
        known = self._offsets.get(attempt.directory, {})
        found = []
        for stream, path in (("stdout", attempt.stdout), ("stderr", attempt.stderr)):
            size = os.path.getsize(path) if os.path.exists(path) else 0
            begin = known.get(stream, 0)
            if self._tried.get(path) == size:
                sizes[path] = size
                if not final:
                    continue
            if size <= begin:
                continue
            piece = _read(path, begin, size)
            if piece is None:
                continue
            begin, data = piece
            if begin + len(data) >= size:
                sizes[path] = size
            text = base64.b64encode(data).decode("ascii")
            found.append({"stream": stream, "offset": begin, "data": text})
        return found


def _read(path: str, begin: int, size: int) -> Optional[Tuple[int, bytes]]:
    """At most one block from ``begin``, or from a line's start nearer to the end where too much waits."""
    with open(path, "rb") as source:
        if size - begin > BACKLOG:
            begin = size - BACKLOG // 2
            source.seek(begin)
            head = source.read(BLOCK).partition(b"\n")
            begin += len(head[0]) + 1 if head[1] else 0
        source.seek(begin)
        data = source.read(BLOCK)
    return (begin, data) if data else None
