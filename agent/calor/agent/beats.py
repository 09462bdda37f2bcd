"""Heartbeats: what this guest is doing, told on each change, every few seconds while a hook runs, else each minute."""

import calendar
import json
import logging
import threading
import time
from typing import Any, Dict, List, Optional

from calor.agent import PROTOCOL, __version__, room
from calor.agent.identity import NotEnrolled, Refused
from calor.agent.log import CONSOLE
from calor.agent.native import Link
from calor.agent.worker import Running, Worker
from calor.cfntools import httpclient

log = logging.getLogger("calor.agent.beats")

WHILE_RUNNING = 4.0


class Beats:
    """Sends the state ``booted``, ``fetched``, ``running`` or ``idle``."""

    def __init__(self, link: Link, worker: Worker, boot_id: str, state: str, interval: float) -> None:
        self._link = link
        self._worker = worker
        self._boot_id = boot_id
        self._state = state
        self._interval = interval
        self._news = threading.Event()
        self._trouble = ""
        self._clock = ""

    def trouble(self, said: str) -> None:
        """What keeps this instance from its work, empty once nothing does: the server tells it who waits."""
        if said != self._trouble:
            self._trouble = said
            self.wake()

    def wake(self) -> None:
        self._news.set()

    def state(self) -> str:
        if self._worker.running is not None:
            return "running"
        if not self._worker.has_heard:
            return "booted"
        return "fetched" if self._worker.pending() else "idle"

    def body(self) -> Dict[str, Any]:
        running: Optional[Running] = self._worker.running
        current = []
        if running is not None:
            ours = running.deployment.document.get("calor") or {}
            current.append(
                {
                    "run_id": ours.get("run_id") or running.deployment.run_id,
                    "deployment_id": running.deployment.deployment_id,
                    "step": running.where(),
                    "doing": running.doing(),
                    "tail": running.tail(),
                }
            )
        return {
            "state": "running" if running is not None else self.state(),
            "boot_id": self._boot_id,
            "agent": __version__,
            "protocol": PROTOCOL,
            "detail": "; ".join(one for one in (self._trouble or room.lacking(self._state), self._clock) if one),
            "stuck": bool(self._trouble),
            "interval": WHILE_RUNNING if running is not None else self._interval,
            "running": current,
        }

    def beat(self) -> bool:
        """Send one; whether it arrived. A beat that does not arrive is not kept: the next one says more."""
        body = self.body()
        body["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        try:
            answer = self._link.post("heartbeat", body, timeout=15.0)
            self._see_clock(_clock_fault(answer))
            self._worker.cancel(_cancelled(answer))
        except (Refused, NotEnrolled, httpclient.TransportError) as exc:
            log.debug("heartbeat not delivered: %s", exc)
            return False
        return True

    def _see_clock(self, fault: str) -> None:
        if bool(fault) != bool(self._clock):
            log.warning("%s", fault or "the clock of this instance is right again", extra=CONSOLE)
            self.wake()
        self._clock = fault

    def beat_for_ever(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self._news.clear()
            arrived = self.beat()
            busy = self._worker.running is not None
            self._news.wait(WHILE_RUNNING if busy or not arrived else self._interval)
            if not arrived:
                stop.wait(1.0)


CLOCK_FAULT = 300.0
"""Seconds: the most that signed requests may differ from a server's clock."""


def _clock_fault(answer: httpclient.Answer) -> str:
    """That this instance's clock is wrong, by the server's; empty while it is right, or the server does not say."""
    try:
        server = calendar.timegm(time.strptime(json.loads(answer.text())["time"][:19], "%Y-%m-%dT%H:%M:%S"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
    off = time.time() - server
    if abs(off) < CLOCK_FAULT:
        return ""
    here = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return "the clock of this instance says {}, which is {} s {}".format(
        here, int(abs(off)), "ahead" if off > 0 else "behind"
    )


def _cancelled(answer: httpclient.Answer) -> List[str]:
    """The runs that the server wants ended; none from one that says nothing of it."""
    try:
        named = json.loads(answer.text()).get("cancelled")
    except (ValueError, AttributeError):
        return []
    return [str(one) for one in named] if isinstance(named, list) else []
