"""The agent itself: its threads, their beginning and their end."""

import fcntl
import logging
import os
import signal
import threading
import time
from typing import Any, Callable, List, Optional

from calor.agent import boots, sources, verdict
from calor.agent.backoff import Backoff
from calor.agent.beats import Beats
from calor.agent.collecting import Collector
from calor.agent.identity import Identity, NotEnrolled, Refused
from calor.agent.log import CONSOLE
from calor.agent.native import Link
from calor.agent.outbox import Outbox
from calor.agent.places import Places
from calor.agent.runs import Runs
from calor.agent.settings import Settings
from calor.agent.streams import Streams
from calor.agent.worker import Worker
from calor.cfntools import durable, httpclient

log = logging.getLogger("calor.agent")

AGAIN = 5.0
SOURCE_ERRORS = (httpclient.TransportError, Refused, NotEnrolled)


class AlreadyRuns(Exception):
    """Another agent works on the same state directory."""


class Agent:
    """One agent on one state directory. Sources, outbox and heartbeats each have a thread: none waits for another."""

    def __init__(self, settings: Settings, places: Places) -> None:
        self._settings = settings
        self._places = places
        durable.make_directory(places.state)
        self._lock = _lock(os.path.join(places.state, "agent.lock"))
        runs = Runs(places.runs)
        link = Link(settings, Identity(settings, places.state)) if settings.is_native else None
        self._link = link
        self._streams = Streams(link) if link is not None else None
        self._outbox = Outbox(places.outbox, runs, settings, link, self._streams)
        self._worker = Worker(places, runs, self._outbox, self._changed)
        self._beats: Optional[Beats] = None
        if link is not None:
            self._beats = Beats(link, self._worker, boots.boot_id(places.boot_id), places.state, settings.heartbeat)
        self._collectors = sources.configured(settings, places, link)
        self._stop = threading.Event()
        self._stopping = False
        self._trouble = ""

    @property
    def collectors(self) -> List[Collector]:
        return self._collectors

    def run(self) -> int:
        """Work until SIGTERM or SIGINT. Hooks that run then go on running."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note_signal)
        for collector in self._collectors:
            self._thread("poll-" + collector.name, self._poll, collector)
        self._thread("outbox", self._outbox.deliver_for_ever, self._stop)
        if self._beats is not None:
            self._thread("beats", self._beats.beat_for_ever, self._stop)
        if self._link is not None and self._streams is not None:
            self._thread("output", self._follow, self._streams)
            if self._settings.report_cloud_init:
                self._thread("cloud-init", self._tell_verdict, self._link)
        if not self._collectors:
            log.error("no source of deployments is configured: %s names no server", self._places.config)
        while not self._stop.is_set():
            self._worker.wait(self._step())
        log.info("stopped; hooks that run are left to end")
        return 0

    def _step(self) -> float:
        """The worker's next step. A disk that is full or broken is told, and tried again."""
        try:
            pause = self._worker.step()
        except OSError as exc:
            self._say("the agent cannot go on: {}".format(exc))
            return AGAIN
        self._say("")
        return pause

    def _say(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            log.error("%s", trouble or "the agent goes on", extra=CONSOLE)
        if self._beats is not None:
            self._beats.trouble(trouble)

    def once(self, timeout: float = 3600.0) -> int:
        """Collect once, apply all, deliver all. 0 if everything was delivered, 1 if not."""
        deadline = time.monotonic() + timeout
        reached = [self._collect(collector) for collector in self._collectors if not collector.stands_by]
        while time.monotonic() < deadline:
            pause = self._worker.step()
            if pause > 600:
                break
            self._worker.wait(min(pause, 1.0))
        return 0 if self._outbox.deliver_all() and reached and all(reached) else 1

    def _collect(self, collector: Collector) -> bool:
        try:
            found = collector.collect()
        except SOURCE_ERRORS as exc:
            log.warning("%s: %s", collector.name, exc)
            return False
        if found is not None:
            self._worker.receive(collector, found)
        return True

    def _note_signal(self, number: int, frame: Any) -> None:
        if not self._stopping:
            self._stopping = True  # a second signal in here must not wait for the lock that the first one holds
            self._stop.set()
            self._worker.wake()

    def _changed(self) -> None:
        """Something that ``status`` and the server should see has changed."""
        running = self._worker.running
        current = None if running is None else {"run_id": running.deployment.run_id, "step": running.step}
        durable.write_json(self._places.status, {"pid": os.getpid(), "time": int(time.time()), "running": current})
        if self._beats is not None:
            self._beats.wake()
        if self._streams is not None:
            self._streams.wake()

    def _follow(self, streams: Streams) -> None:
        streams.follow(self._worker.current, self._stop)

    def _tell_verdict(self, link: Link) -> None:
        verdict.tell(self._places, link, self._stop)

    def _thread(self, name: str, target: Callable[..., None], argument: Any) -> None:
        threading.Thread(target=_logged, args=(target, argument), name=name, daemon=True).start()

    def _poll(self, collector: Collector) -> None:
        """Collect for ever. After news, and after an outage, the pauses are short again (F061)."""
        failing = Backoff(min(1.0, self._settings.retry_max), self._settings.retry_max)
        idle = Backoff(min(1.0, self._settings.poll_max), self._settings.poll_max)
        broken = ""
        while not self._stop.is_set():
            try:
                found = collector.collect()
            except SOURCE_ERRORS as exc:
                if str(exc) != broken:
                    log.warning("%s: %s; trying again", collector.name, exc, extra=CONSOLE)
                broken = str(exc)
                self._stop.wait(failing.next())
                continue
            if broken:
                log.info("%s: reached again", collector.name, extra=CONSOLE)
            broken = ""
            failing.reset()
            if found is not None:
                idle.reset()
                self._worker.receive(collector, found)
                self._changed_by_fetch()
                continue
            if self._worker.heard_nothing_new(collector) and self._beats is not None:
                self._beats.wake()
            if not collector.waits:
                idle.limit(collector.longest_pause or self._settings.poll_max)
                self._stop.wait(idle.next())

    def _changed_by_fetch(self) -> None:
        if self._beats is not None:
            self._beats.wake()
        self._worker.prune()


def _logged(target: Callable[..., None], argument: Any) -> None:
    """The outermost frame of a thread: a fault of ours ends the process, which whoever started it starts again."""
    try:
        target(argument)
    except Exception:
        log.exception("thread %s broke", threading.current_thread().name)
        logging.shutdown()
        os._exit(70)


def _lock(path: str) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise AlreadyRuns("another agent works on {}".format(os.path.dirname(path))) from None
    return handle
