"""What ``calor-agent status`` and ``calor-agent logs`` show."""

import os
import sys
from typing import Iterator, Optional

from calor.agent import boots
from calor.agent.places import Places
from calor.agent.runs import Run, Runs
from calor.cfntools import durable


def status(places: Places) -> int:
    """One line a run, oldest first: run id, state, name, reason."""
    known = durable.read_map(places.status)
    pid = known.get("pid")
    alive = isinstance(pid, int) and os.path.exists("/proc/{}".format(pid))
    sys.stdout.write("agent: {}\n".format("running, pid {}".format(pid) if alive else "not running"))
    for run in _runs(places):
        sys.stdout.write("{}  {}\n".format(run.run_id, _line(run, places)))
    return 0


def _line(run: Run, places: Places) -> str:
    deployment, attempts = run.deployment(), run.attempts()
    name = deployment.name if deployment is not None else "?"
    outcome = attempts[-1].outcome(boots.boot_id(places.boot_id)) if attempts else None
    if outcome is None:
        begun = bool(attempts) and attempts[-1].has_started
        state = "running" if begun else "not run" if run.is_reported else "pending"
    else:
        state = "ok" if outcome.succeeded else "failed"
    sent = "reported" if run.is_reported else "not reported"
    return "{:8} {:12} attempts={} {} {}".format(state, sent, len(attempts), name, outcome.reason if outcome else "")


def logs(places: Places, run_id: Optional[str]) -> int:
    """The agent's log, or standard output and error of a run's last attempt."""
    if run_id is None:
        return _copy(places.log)
    for run in _runs(places):
        if run.run_id.startswith(run_id) and run.attempts():
            last = run.attempts()[-1]
            return _copy(last.stdout) or _copy(last.stderr)
    sys.stderr.write("calor-agent: no run {} here\n".format(run_id))
    return 1


def _runs(places: Places) -> Iterator[Run]:
    return iter(Runs(places.runs).all() if os.path.isdir(places.runs) else [])


def _copy(path: str) -> int:
    if not os.path.exists(path):
        sys.stderr.write("calor-agent: {} is not there\n".format(path))
        return 1
    with open(path, "rb") as source:
        for block in iter(lambda: source.read(65536), b""):
            sys.stdout.buffer.write(block)
    sys.stdout.flush()
    return 0
