"""One attempt to run a hook, as files: what the supervisor writes and the agent reads.

``lock`` is held (flock) as long as the supervisor lives; ``started`` exists once the hook may have begun;
``hook`` names its process; ``result.json`` is the outcome. Nothing else tells whether a hook runs: a lock cannot
survive its process, a kill or a reboot.
"""

import fcntl
import os
import signal
import time
from typing import Any, Dict, List, NamedTuple, Optional

from calor.agent import boots, outputs, processes, resuming, steps
from calor.cfntools import durable

FINISHED = "finished"
INTERRUPTED = "interrupted"


class Outcome(NamedTuple):
    """How an attempt ended. ``outcome`` is finished or interrupted; ``reason`` is "" for success."""

    outcome: str
    outputs: Dict[str, Any]
    reason: str

    @property
    def succeeded(self) -> bool:
        return self.outcome == FINISHED and str(self.outputs.get("deploy_status_code")) == "0"


class Attempt:
    """The directory of one attempt."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.number = int(directory.rpartition("-")[2]) if directory.rpartition("-")[2].isdigit() else 1
        self.stdout = os.path.join(directory, "stdout")
        self.stderr = os.path.join(directory, "stderr")
        self._started = os.path.join(directory, "started")
        self._hook = os.path.join(directory, "hook")
        self._result = os.path.join(directory, "result.json")
        self._lock = os.path.join(directory, "lock")

    def take(self, boot: str) -> Optional[int]:
        """For the supervisor: a file descriptor to keep open, or None if this attempt has had its start."""
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        pid = os.getpid()
        note = "{} {} {} {}".format(pid, boots.start_time(pid) or 0, int(time.time()), boot)
        if not durable.create_once(self._started, note.encode("ascii")):
            os.close(handle)
            return None
        return handle

    def clear_output(self) -> None:
        for path in (self.stdout, self.stderr):
            open(path, "wb").close()

    def note_hook(self, pid: int) -> None:
        durable.write(self._hook, "{} {}".format(pid, boots.start_time(pid) or 0).encode("ascii"))

    def finish(self, outcome: Outcome) -> None:
        durable.write_json(self._result, dict(outcome._asdict()))
        if outcome.outcome == FINISHED:
            resuming.forget(self.directory)

    @property
    def has_started(self) -> bool:
        return os.path.exists(self._started)

    @property
    def is_supervised(self) -> bool:
        """Whether its supervisor lives. Only to be asked once it has started."""
        try:
            handle = os.open(self._lock, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def outcome(self, boot: str) -> Optional[Outcome]:
        """None while it runs or before it; a result that is missing or damaged though nobody writes it any more is
        an interruption. ``boot`` is the present one."""
        if not self.has_started:
            return None
        supervised = self.is_supervised  # asked first: the result is written before the lock is let go
        found = durable.read_map(self._result)
        if found.get("outcome") in (FINISHED, INTERRUPTED) and isinstance(found.get("outputs"), dict):
            return Outcome(found["outcome"], found["outputs"], str(found.get("reason") or ""))
        if supervised:
            return None
        return self.interrupted("it was killed" if self._is_of(boot) else "the instance was rebooted")

    def interrupted(self, why: str) -> Outcome:
        """The outcome of an attempt cut short, with what it had printed."""
        last = outputs.tail(self.stderr, 500).strip() or outputs.tail(self.stdout, 500).strip()
        reason = "interrupted: {}{}".format(why, "; last output: " + last if last else "")
        return Outcome(INTERRUPTED, outputs.standard(self.stdout, self.stderr, -1, {}), reason)

    @property
    def goes_on(self) -> bool:
        """Whether, cut short, it is to be followed by another attempt after a reboot (``resuming``)."""
        return resuming.is_asked(self.directory) and resuming.count(self.directory) < resuming.MOST

    def has_outlived(self, boot: str) -> bool:
        """Whether it was begun in another boot than this one, or the reboot that it waits for is overdue."""
        if not self._is_of(boot):
            return True
        asked = os.stat(resuming.path(self.directory)).st_mtime
        return abs(time.time() - asked) > resuming.PATIENCE

    def _is_of(self, boot: str) -> bool:
        return _words(self._started)[3:4] == [boot]

    def stop(self) -> None:
        """Ask the supervisor to end the hook; it then reports an interruption."""
        _signal(self._started, signal.SIGTERM, group=False)

    @property
    def mark(self) -> str:
        """The entry of the environment that all processes of the hook have at their start."""
        return "{}={}".format(steps.VARIABLE, steps.path(self.directory))

    def end_orphan(self) -> bool:
        """Kill a hook that outlived its supervisor, so that it never works beside a second run; was there one?"""
        _signal(self._hook, signal.SIGKILL, group=True)
        return processes.end(self.mark, 0, 0.0) > 0


def _words(path: str) -> List[str]:
    try:
        with open(path, "rb") as source:
            return source.read(200).decode("ascii", "replace").split()
    except FileNotFoundError:
        return []


def _signal(path: str, number: int, group: bool) -> None:
    """Signal the process (or its group) that a file names, if it is still that one."""
    words = _words(path)
    if len(words) < 2 or not (words[0].isdigit() and words[1].isdigit()):
        return
    pid, start = int(words[0]), int(words[1])
    if pid <= 1 or boots.start_time(pid) != start:
        return
    try:
        os.killpg(pid, number) if group else os.kill(pid, number)
    except ProcessLookupError:
        return
