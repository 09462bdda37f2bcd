"""Deployments whose work goes on after their run (containers, pods) and which the server no longer names: what they
left is ended, as the preparation scripts of Heat's hooks do it, before anything else is started.

``runs/ID/leaves`` holds the source of such a deployment, from its start until it has been withdrawn.
"""

import logging
import os
import subprocess
import time
from typing import Dict, List, Mapping, Optional

from calor.agent import launching
from calor.agent.deployments import Deployment, choose
from calor.agent.places import Places
from calor.agent.runs import Run, Runs
from calor.cfntools import durable

log = logging.getLogger("calor.agent.withdrawal")

GROUPS = ("docker-cmd", "docker-compose", "kubelet")
PATIENCE = 300.0
PAUSE = 60.0
TRIES = 10


class Withdrawals:
    """One withdrawal at a time, each in a process of its own."""

    def __init__(self, places: Places, runs: Runs) -> None:
        self._places = places
        self._open = {run.run_id: run for run in runs.all() if os.path.exists(_marker(run))}
        self._not_before: Dict[str, float] = {}
        self._tries: Dict[str, int] = {}
        self._process: Optional["subprocess.Popen[bytes]"] = None
        self._current: Optional[Run] = None
        self._deadline = 0.0

    def note(self, run: Run, deployment: Deployment, source: str) -> None:
        """A run begins; to be called before its hook starts."""
        if choose(deployment).group in GROUPS and deployment.action != "DELETE":
            durable.write(_marker(run), source.encode("utf-8"))
            self._open[run.run_id] = run

    def step(self, wanted: Mapping[str, List[Deployment]]) -> bool:
        """Go on, given what each source that has been heard names; whether something is being withdrawn."""
        if self._process is not None:
            return self._follow(self._process)
        for run_id, run in list(self._open.items()):
            source, deployment = _source(run), run.deployment()
            named = wanted.get(source)
            if deployment is None or named is None or self._not_before.get(run_id, 0.0) > time.monotonic():
                continue
            if run_id not in [one.run_id for one in named]:
                self._start(run, deployment, any(_is_successor(one, deployment) for one in named))
                return True
        return False

    def _start(self, run: Run, deployment: Deployment, is_replaced: bool) -> None:
        attempts = run.attempts()
        if not attempts:
            self._done(run)
            return
        log.info("%s: no longer wanted: withdrawing what it left", deployment.name)
        arguments = [
            "withdraw",
            choose(deployment).group,
            attempts[-1].directory,
            "replaced" if is_replaced else "gone",
        ]
        environment = dict(os.environ, CALOR_ROOT=self._places.root, CALOR_STATE_DIR=self._places.state)
        self._current, self._deadline = run, time.monotonic() + PATIENCE
        with open(os.path.join(run.directory, "withdrawal.log"), "ab") as target:
            self._process = subprocess.Popen(
                launching.command(*arguments),
                stdin=subprocess.DEVNULL,
                stdout=target,
                stderr=target,
                cwd="/",
                env=environment,
                start_new_session=True,
            )

    def _follow(self, process: "subprocess.Popen[bytes]") -> bool:
        if process.poll() is None and time.monotonic() < self._deadline:
            return True
        if process.returncode is None:
            process.kill()
            process.wait()
        run, self._process = self._current, None
        if run is None:
            return False
        tries = self._tries[run.run_id] = self._tries.get(run.run_id, 0) + 1
        if process.returncode == 0 or tries >= TRIES:
            self._done(run)
        self._not_before[run.run_id] = time.monotonic() + PAUSE
        if process.returncode != 0:
            log.warning("run %s: withdrawal failed, try %s of %s: see withdrawal.log", run.run_id, tries, TRIES)
        return False

    def _done(self, run: Run) -> None:
        durable.remove(_marker(run))
        self._open.pop(run.run_id, None)


def _marker(run: Run) -> str:
    return os.path.join(run.directory, "leaves")


def _source(run: Run) -> str:
    with open(_marker(run), encoding="utf-8") as source:
        return source.read()


def _is_successor(other: Deployment, gone: Deployment) -> bool:
    """Whether it is a newer config of the same deployment, whose hook takes over what the old one left."""
    names = ("deploy_stack_id", "deploy_resource_name")
    if [other.inputs.get(name) for name in names] != [gone.inputs.get(name) for name in names]:
        return False
    if (other.deployment_id, other.name) != (gone.deployment_id, gone.name):
        return False
    chosen = choose(other)
    return chosen.group == choose(gone).group and bool(chosen.config or other.action == "DELETE")
