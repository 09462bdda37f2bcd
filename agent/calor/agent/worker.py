"""Applies deployments one after the other, in the order given, and settles what earlier agents began.

A level-triggered loop: each step reads the records on disk and does the one thing that is next, so that an agent
killed between any two lines is continued by the next one.
"""

import logging
import os
import select
import time
from typing import Callable, Dict, List, NamedTuple, Optional, Set, Tuple

from calor.agent import boots, deployed, launching, metadata_files, outputs, room, steps
from calor.agent.attempts import INTERRUPTED, Attempt, Outcome
from calor.agent.collecting import Collection, Collector
from calor.agent.deployments import DATA_GROUPS, Deployment, parse
from calor.agent.executables import is_for_us
from calor.agent.outbox import Outbox
from calor.agent.places import Places
from calor.agent.runs import Run, Runs
from calor.agent.withdrawal import Withdrawals

log = logging.getLogger("calor.agent.worker")

SECRET_INPUTS = ("deploy_password", "deploy_signal_id", "ansible_vault_password", "ansible_become_password")
START_TRIES = 3


class Running(NamedTuple):
    """What runs now, for heartbeats and ``status``."""

    deployment: Deployment
    step: str
    attempt: Attempt

    def where(self) -> str:
        """Which deployment this is, and what its hook says it is doing (``steps``)."""
        said = steps.current(self.attempt.directory)
        return "{}: {}".format(self.step, said) if said else self.step

    def doing(self) -> str:
        """What its hook says it is doing."""
        return steps.current(self.attempt.directory)

    def tail(self) -> str:
        """The last lines it printed, without the secrets among its inputs."""
        text = outputs.tail(self.attempt.stdout, 2000) + outputs.tail(self.attempt.stderr, 1000)
        for name in SECRET_INPUTS:
            secret = self.deployment.inputs.get(name)
            if isinstance(secret, str) and secret:
                text = text.replace(secret, "***")
        return text


class Worker:
    """Owns the runs; ``receive`` may be called from other threads, all else from one."""

    def __init__(self, places: Places, runs: Runs, outbox: Outbox, changed: Callable[[], None]) -> None:
        self._places = places
        self._runs = runs
        self._outbox = outbox
        self._changed = changed
        self._news, self._call = _pipe()
        self._wanted: Dict[str, Tuple[bool, Collection]] = {}
        self._kept: Optional[List[Deployment]] = None
        self._open = {run.run_id: run for run in runs.all() if run.attempts() and not outbox.is_over(run)}
        self._over: Set[str] = set()
        self._tries: Dict[str, int] = {}
        self._not_before: Dict[str, float] = {}
        self._since = 0.0
        self._withdrawals = Withdrawals(places, runs)
        self._told_to_end: Set[str] = set()
        self.running: Optional[Running] = None

    def receive(self, source: Collector, collection: Collection) -> None:
        self._wanted[source.name] = (source.is_native, collection)
        self.wake()

    def _keep_data(self) -> None:
        """Put down the deployments of our server that are data for others to use, before anything uses them; those of
        other sources lie with the sources' own files (``collected``)."""
        found = [one for native, got in list(self._wanted.values()) if native for one in got.deployments]
        data = [one for one in found if one.group in DATA_GROUPS]
        if self.has_heard and data != self._kept:
            metadata_files.keep(self._places, data)
            self._kept = data

    def heard_nothing_new(self, source: Collector) -> bool:
        """The source was reached and has nothing (more); whether this is the first that was heard of it."""
        if source.name in self._wanted:
            return False
        self.receive(source, Collection([], []))
        return True

    def cancel(self, run_ids: List[str]) -> None:
        """The runs that the server wants ended, as its last answer to a heartbeat names them. That of another source is
        not its to end."""
        if set(run_ids) != self._told_to_end:
            self._told_to_end = set(run_ids)
            self.wake()

    def current(self) -> Optional[Tuple[str, str, Attempt]]:
        """The run that goes on now: its id and its deployment's, as the server knows them, and the attempt."""
        running = self.running
        if running is None:
            return None
        ours = running.deployment.document.get("calor") or {}
        ident = str(ours.get("run_id") or running.deployment.run_id)
        return ident, running.deployment.deployment_id, running.attempt

    def wake(self) -> None:
        """End ``wait``, now or the next one. Takes no lock: a signal handler may call it."""
        try:
            os.write(self._call, b"x")
        except BlockingIOError:
            return  # the pipe is full: it has been called often enough

    def wait(self, seconds: float) -> None:
        """Sleep until called, at most so long."""
        if select.select([self._news], [], [], max(0.0, seconds))[0]:
            os.read(self._news, 65536)

    @property
    def has_heard(self) -> bool:
        return bool(self._wanted)

    def pending(self) -> List[Tuple[bool, Deployment]]:
        """Deployments that are not over, in order; with each whether its result goes by the native protocol."""
        found = []
        for native, collection in list(self._wanted.values()):
            for deployment in collection.deployments:
                if deployment.run_id in self._over:
                    continue
                if self._outbox.is_over(self._runs.get(deployment.run_id)):
                    self._over.add(deployment.run_id)
                elif is_for_us(deployment, self._places, os.environ):
                    found.append((native, deployment))
        return found

    def step(self) -> float:
        """Do what is next; the seconds after which to look again if nothing else happens."""
        heard = self.has_heard  # asked first: what comes in meanwhile is for the next step
        self._keep_data()
        wanted = {deployment.run_id: (native, deployment) for native, deployment in self.pending()}
        cancelled = {run_id for _, collection in list(self._wanted.values()) for run_id in collection.cancelled}
        cancelled |= {one for one in self._told_to_end if one not in wanted or wanted[one][0]}
        if self._is_busy(wanted if heard else None, cancelled):
            return 0.05 if time.monotonic() - self._since < 10 else 0.2
        if self._withdrawals.step({name: found.deployments for name, (_, found) in list(self._wanted.items())}):
            return 0.1
        pending = self.pending()  # once more: what has just been settled must not be begun again
        self._keep_data()  # once more: what came in meanwhile is for what begins now
        longest = 3600.0
        for native, deployment in pending:
            if deployment.run_id in cancelled:
                self._give_up(native, deployment)
                continue
            if self._is_of_others(native, deployment):
                longest = deployed.LOOK_AGAIN
                continue
            pause = self._not_before.get(deployment.run_id, 0.0) - time.monotonic()
            if pause > 0:
                return pause
            return self._start(native, deployment, pending.index((native, deployment)) + 1, len(pending))
        return longest

    def _is_busy(self, wanted: Optional[Dict[str, Tuple[bool, Deployment]]], cancelled: Set[str]) -> bool:
        """Follow the runs that were begun; whether one still runs. ``wanted`` is None before a source was reached."""
        busy = False
        for run_id, run in list(self._open.items()):
            native, deployment = (wanted or {}).get(run_id) or (self._is_native_by_default(), run.deployment())
            attempts = run.attempts()
            if not attempts or not attempts[-1].has_started:
                continue
            outcome = attempts[-1].outcome(boots.boot_id(self._places.boot_id))
            if outcome is None or self._awaits_reboot(attempts[-1], outcome, run_id in cancelled):
                busy = True
                if run_id in cancelled:
                    attempts[-1].stop()
                if deployment is not None and self.running is None:
                    self._show(Running(deployment, deployment.name, attempts[-1]))
            elif deployment is not None or wanted is not None:
                again = None if wanted is None else run_id in wanted and run_id not in cancelled
                self._settle(run, deployment or parse({"id": run_id}), native, outcome, again)
        return busy

    def _awaits_reboot(self, attempt: Attempt, outcome: Outcome, is_cancelled: bool) -> bool:
        """Whether the hook is to go on in the next boot (``resuming``), and this is not yet it."""
        if outcome.outcome != INTERRUPTED or is_cancelled or not attempt.goes_on:
            return False
        return not attempt.has_outlived(boots.boot_id(self._places.boot_id))

    def _is_native_by_default(self) -> bool:
        return any(native for native, _ in self._wanted.values()) or not self._wanted

    def _settle(
        self, run: Run, deployment: Deployment, native: bool, outcome: Outcome, is_wanted: Optional[bool]
    ) -> None:
        """An attempt has ended: report it, or leave the run for another attempt."""
        last, made = run.attempts()[-1], _counted(run.attempts())
        if outcome.outcome == INTERRUPTED and last.end_orphan():
            log.warning("%s: killed a hook that had outlived its supervisor", run.run_id)
        self._show(None)
        goes_on = outcome.outcome == INTERRUPTED and last.goes_on
        if not outcome.succeeded and (goes_on or made <= deployment.retries):
            if is_wanted:
                del self._open[run.run_id]
                if goes_on:
                    log.info("%s: goes on after the reboot", deployment.name)
                    return
                self._not_before[run.run_id] = time.monotonic() + min(2.0 ** (made - 1), 30.0)
                log.warning(
                    "%s failed, attempt %s of %s: %s", deployment.name, made, deployment.retries + 1, outcome.reason
                )
                return
            if is_wanted is None:
                return
        log.info("%s: %s", deployment.name, outcome.reason or "success")
        self._outbox.put(run, deployment, outcome, native)
        del self._open[run.run_id]
        self._changed()

    def _start(self, native: bool, deployment: Deployment, number: int, total: int) -> float:
        run = self._runs.get(deployment.run_id)
        attempts = run.attempts()
        room.require(self._places.state)
        self._open[run.run_id] = run
        if attempts and not attempts[-1].has_started:
            attempt = attempts[-1]  # an earlier agent was killed before its supervisor began
            run.record(deployment)
        elif _counted(attempts) > deployment.retries:
            return 0.0  # its last attempt is not settled yet; nothing is ever started beyond the retries
        else:
            attempt = run.new_attempt(deployment)
        self._withdrawals.note(run, deployment, self._source_of(deployment))
        self._since = time.monotonic()
        log.info("%s: starting hook %s (run %s)", deployment.name, deployment.group, run.run_id)
        if self._launch(run, attempt):
            self._show(Running(deployment, "{} (step {} of {})".format(deployment.name, number, total), attempt))
            return 0.01
        return self._launch_failed(run, deployment, native, attempt)

    def _give_up(self, native: bool, deployment: Deployment) -> None:
        """Say that a cancelled run will never begin."""
        run = self._runs.get(deployment.run_id)
        if not run.attempts():
            run.record(deployment)
            texts = {"deploy_stdout": "", "deploy_stderr": "", "deploy_status_code": -1}
            self._outbox.put(run, deployment, Outcome(INTERRUPTED, texts, "cancelled before it began"), native)

    def _is_of_others(self, native: bool, deployment: Deployment) -> bool:
        """Whether heat-agents have begun it before us; once they have ended, what they left is its result."""
        run = self._runs.get(deployment.run_id)
        theirs = None if run.attempts() else deployed.by_another(self._places, os.environ, deployment)
        if theirs is not None and not deployed.is_going_on(theirs):
            log.info("%s: %s", deployment.name, theirs.reason or "run by heat-agents before: success")
            run.record(deployment)
            self._outbox.put(run, deployment, theirs, native)
        return theirs is not None

    def _source_of(self, deployment: Deployment) -> str:
        named = [name for name, (_, found) in list(self._wanted.items()) if deployment in found.deployments]
        return named[0] if named else ""

    def _launch(self, run: Run, attempt: Attempt) -> bool:
        environment = dict(os.environ, CALOR_ROOT=self._places.root, CALOR_STATE_DIR=self._places.state)
        try:
            launching.supervise(environment, run, attempt)
        except OSError as exc:
            log.warning("the supervisor cannot be started: %s", exc)
            return False
        deadline = time.monotonic() + 5
        while not attempt.has_started and time.monotonic() < deadline:
            time.sleep(0.005)
        return attempt.has_started

    def _launch_failed(self, run: Run, deployment: Deployment, native: bool, attempt: Attempt) -> float:
        room.require(self._places.state)  # a full disk is no fault of the hook
        tries = self._tries[run.run_id] = self._tries.get(run.run_id, 0) + 1
        if tries < START_TRIES:
            return 2.0
        last = outputs.tail(os.path.join(attempt.directory, "supervisor.log"), 500)
        if (
            attempt.take(boots.boot_id(self._places.boot_id)) is None
        ):  # it has begun after all: from now on nothing else can start it
            return 0.1
        reason = "the hook's supervisor cannot be started: " + last.strip()
        texts = {"deploy_stdout": "", "deploy_stderr": reason, "deploy_status_code": 126}
        self._outbox.put(run, deployment, Outcome("finished", texts, reason), native)
        del self._open[run.run_id]
        return 0.0

    def _show(self, running: Optional[Running]) -> None:
        if running != self.running:
            self.running = running
            self._changed()

    def prune(self) -> None:
        wanted = [one for _, found in list(self._wanted.values()) for one in found.deployments]
        for ident in self._runs.prune([one.run_id for one in wanted]) - {one.id for one in wanted}:
            deployed.forget(self._places, os.environ, ident)


def _counted(attempts: List[Attempt]) -> int:
    """The attempts that use up retries: not those that went on after a reboot."""
    return sum(not attempt.goes_on for attempt in attempts)


def _pipe() -> Tuple[int, int]:
    """A pipe of which neither end waits."""
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends
