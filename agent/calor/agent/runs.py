"""What this instance knows of each (deployment, config): not begun, running, ended, reported. All of it on disk.

``runs/ID/deployment.json``, ``runs/ID/attempt-N/`` (see ``attempts``), ``runs/ID/reported`` once the server has it.
A run is over when its result lies in the outbox or has been reported; neither is ever undone.
"""

import os
from typing import List, Optional, Set

from calor.agent import outputs
from calor.agent.attempts import Attempt
from calor.agent.deployments import Deployment, parse
from calor.cfntools import durable

KEEP = 200


class Run:
    """The record of one run id."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._document = os.path.join(directory, "deployment.json")
        self._reported = os.path.join(directory, "reported")

    @property
    def run_id(self) -> str:
        return os.path.basename(self.directory)

    @property
    def is_reported(self) -> bool:
        return os.path.exists(self._reported)

    def mark_reported(self) -> None:
        durable.make_directory(self.directory)
        durable.create_once(self._reported, b"")

    def deployment(self) -> Optional[Deployment]:
        """As it was when its first attempt was made; None if the file is damaged."""
        try:
            return parse(durable.read_map(self._document))
        except (ValueError, TypeError, AttributeError, KeyError):
            return None

    def attempts(self) -> List[Attempt]:
        """The attempts made so far, in order."""
        numbers = []
        for name in os.listdir(self.directory) if os.path.isdir(self.directory) else []:
            word, _, number = name.partition("-")
            if word == "attempt" and number.isdigit():
                numbers.append(int(number))
        return [Attempt(self._attempt(number)) for number in sorted(numbers)]

    def new_attempt(self, deployment: Deployment) -> Attempt:
        """Make the next attempt's directory, durable before anything is started from it."""
        self.record(deployment)
        path = self._attempt(len(self.attempts()) + 1)
        durable.make_directory(path)
        durable.sync_directory(self.directory)
        return Attempt(path)

    def shrink(self) -> None:
        """Keep no more of its output on disk than head and tail: the server has had its share."""
        for attempt in self.attempts():
            for path in (attempt.stdout, attempt.stderr):
                if os.path.exists(path) and os.path.getsize(path) > 2 * outputs.LIMIT:
                    durable.write(path, outputs.read_bounded(path).encode("utf-8"))

    def record(self, deployment: Deployment) -> None:
        """Keep the deployment as it will be run."""
        durable.make_directory(self.directory)
        durable.write_json(self._document, deployment.document)

    def _attempt(self, number: int) -> str:
        return os.path.join(self.directory, "attempt-{}".format(number))


class Runs:
    """All runs of this instance, below one directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        durable.make_directory(directory)

    def get(self, run_id: str) -> Run:
        return Run(os.path.join(self._directory, run_id))

    def all(self) -> List[Run]:
        """Oldest first."""
        found = []
        for name in os.listdir(self._directory):
            path = os.path.join(self._directory, name)
            if os.path.isdir(path):
                found.append((os.stat(path).st_mtime, path))
        return [Run(path) for _, path in sorted(found)]

    def prune(self, wanted: List[str]) -> Set[str]:
        """Forget the oldest reported runs that the server no longer names, beyond ``KEEP``; their configs' ids."""
        idle = [run for run in self.all() if run.is_reported and run.run_id not in wanted]
        if len(idle) <= KEEP:
            return set()
        import shutil  # it brings three compressors along, which an idle agent need not hold

        forgotten = idle[: len(idle) - KEEP]
        known = [run.deployment() for run in forgotten]
        for run in forgotten:
            shutil.rmtree(run.directory, ignore_errors=True)
        return {one.id for one in known if one is not None}
