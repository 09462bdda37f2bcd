"""Results on their way to the server: on disk until it has taken them, over any kill and any outage."""

import logging
import os
import threading
from typing import Any, Dict, List, Optional

from calor.agent import signals
from calor.agent.attempts import Outcome
from calor.agent.backoff import Backoff
from calor.agent.deployments import Deployment
from calor.agent.identity import NotEnrolled, Refused
from calor.agent.native import Link
from calor.agent.runs import Run, Runs
from calor.agent.settings import Settings
from calor.agent.streams import Streams
from calor.cfntools import durable, httpclient

log = logging.getLogger("calor.agent.outbox")


class Outbox:
    """``outbox/RUN_ID.json`` holds each result not yet taken. A result is delivered at least once, with its run id."""

    def __init__(
        self, directory: str, runs: Runs, settings: Settings, link: Optional[Link], streams: Optional[Streams] = None
    ) -> None:
        self._directory = directory
        self._runs = runs
        self._settings = settings
        self._link = link
        self._streams = streams
        self._news = threading.Event()
        durable.make_directory(directory)

    def _path(self, run_id: str) -> str:
        return os.path.join(self._directory, run_id + ".json")

    def holds(self, run_id: str) -> bool:
        return bool(durable.read_map(self._path(run_id)))

    def is_over(self, run: Run) -> bool:
        """Whether the run's terminal result is fixed: never run again."""
        return run.is_reported or self.holds(run.run_id)

    def put(self, run: Run, deployment: Deployment, outcome: Outcome, native: bool) -> None:
        entry = {
            "run_id": deployment.run_id,
            "deployment_id": deployment.deployment_id or "unknown",
            "config_id": deployment.id,
            "outcome": outcome.outcome,
            "outputs": outcome.outputs,
            "reason": outcome.reason,
            "native": native,
            "inputs": {key: value for key, value in deployment.inputs.items() if key.startswith("deploy_")},
        }
        if deployment.document.get("calor"):
            entry["run_id"] = deployment.document["calor"].get("run_id") or deployment.run_id
        durable.write_json(self._path(run.run_id), entry)
        self._news.set()

    def waiting(self) -> List[str]:
        """Run ids with a result to deliver, oldest first. A damaged entry is dropped: its run is settled anew from
        the attempt's own record."""
        found = []
        for name in os.listdir(self._directory):
            path = os.path.join(self._directory, name)
            if name.endswith(".json"):
                found.append((os.stat(path).st_mtime, name[: -len(".json")]))
        return [run_id for _, run_id in sorted(found)]

    def deliver_all(self) -> bool:
        """One try for each waiting result; whether all are gone."""
        return all([self._deliver(run_id) for run_id in self.waiting()])

    def deliver_for_ever(self, stop: threading.Event) -> None:
        """Deliver as results come, trying again with growing pauses, until ``stop``."""
        backoff = Backoff(min(1.0, self._settings.retry_max), self._settings.retry_max)
        while not stop.is_set():
            self._news.clear()
            try:
                done = self.deliver_all()
            except OSError as exc:  # what was delivered cannot be noted as such: it is sent again, and known by its id
                log.warning("results cannot be put away: %s", exc)
                done = False
            if done:
                backoff.reset()
                self._news.wait()
            else:
                stop.wait(backoff.next())

    def wake(self) -> None:
        self._news.set()

    def _deliver(self, run_id: str) -> bool:
        run, path = self._runs.get(run_id), self._path(run_id)
        entry = durable.read_map(path)
        if entry and not run.is_reported:
            try:
                self._flush(run, entry)
                self._send(entry)
            except Refused as exc:
                if not exc.is_final:
                    log.warning("result of %s not delivered yet: %s", run_id, exc)
                    return False
                log.warning("result of %s given up: %s", run_id, exc)
            except (httpclient.TransportError, NotEnrolled) as exc:
                log.warning("result of %s not delivered yet: %s", run_id, exc)
                return False
        if entry:
            run.mark_reported()
            run.shrink()
        durable.remove(path)
        return True

    def _flush(self, run: Run, entry: Dict[str, Any]) -> None:
        """What the run printed last comes before its result: who reads along then has it all."""
        attempts = run.attempts()
        if self._streams is not None and entry.get("native") and attempts:
            self._streams.flush(str(entry["run_id"]), str(entry["deployment_id"]), attempts[-1])

    def _send(self, entry: Dict[str, Any]) -> None:
        if entry.get("native") and self._link is not None:
            names = ("run_id", "deployment_id", "config_id", "outcome", "outputs", "reason")
            self._link.post("results", {name: entry.get(name) for name in names})
            log.info("result of %s delivered: %s", entry["run_id"], entry["reason"] or "success")
            return
        nobody = signals.send(entry.get("inputs") or {}, entry.get("outputs") or {}, self._settings.trust)
        log.info("result of %s: %s", entry["run_id"], nobody or "signalled")
