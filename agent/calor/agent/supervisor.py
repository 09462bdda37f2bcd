"""The small process that runs one hook, outside the agent's process group: it outlives the agent.

``calor-agent supervise RUN_DIRECTORY ATTEMPT_DIRECTORY`` forks once more, so that its parent is the init process,
runs the hook with its output in files, and writes the outcome.
"""

import os
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from calor.agent import attempts, boots, deployed, hooks, places, processes, resuming, room, spool, steps
from calor.agent.attempts import Attempt, Outcome
from calor.agent.deployments import Chosen, Deployment, choose
from calor.agent.hooks import contract
from calor.agent.runs import Run

GRACE = 10.0


def main(run_directory: str, attempt_directory: str, environment: Mapping[str, str]) -> int:
    if os.fork():
        return 0
    attempt = Attempt(attempt_directory)
    where = places.find(environment)
    handle = attempt.take(boots.boot_id(where.boot_id))
    if handle is None:
        return 0
    stopping = Stopping()
    processes.adopt_orphans()
    deployment = Run(run_directory).deployment()
    if deployment is None:
        attempt.finish(attempt.interrupted("the record of the deployment was damaged"))
        return 0
    try:
        outcome = supervise(deployment, attempt, where, environment, stopping)
    except Exception as exc:  # the outermost frame: whatever it was, the stack must hear of it
        import traceback

        traceback.print_exc()
        outcome = attempt.interrupted("the hook broke: {}: {}".format(type(exc).__name__, exc))
    room.await_room(lambda: attempt.finish(outcome))
    os.close(handle)
    return 0


class Stopping:
    """Remembers that a SIGTERM came: the instance goes down, or the server cancelled the run."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._note)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def _note(self, number: int, frame: Any) -> None:
        self.asked = True


def supervise(
    deployment: Deployment, attempt: Attempt, where: places.Places, environment: Mapping[str, str], stopping: Stopping
) -> Outcome:
    """Run the deployment's hook to its end. Never raises for what a user can cause."""
    if deployment.fault:
        return _failed("{} of {}".format(deployment.fault, deployment.name), 1)
    chosen = choose(deployment)
    job = contract.Job(deployment, chosen.config, where, environment, attempt.directory)
    if not chosen.group:
        return _nothing("no configuration for action {}".format(deployment.action))
    try:
        hook = hooks.find(chosen.group, job)
        command = room.await_room(lambda: hook.prepare(job))
    except contract.CannotRun as exc:
        return _failed(str(exc), exc.code)
    if command is None:
        return _nothing("the configuration is empty: nothing to do")
    command.environment.update(contract.attempt_environment(job))
    _tell_others(job, chosen)
    try:
        code = _run_all(command, attempt, Watch(deployment.timeout, stopping, attempt.mark))
    except NotStarted as exc:
        return _failed("{} hook: {}".format(chosen.group, exc), 126)
    except CutShort as exc:
        hook.finish(job, 1)
        if not stopping.asked:
            resuming.forget(attempt.directory)
        return attempt.interrupted(str(exc))
    if code == resuming.EXIT_CODE:
        return _reboot(job, attempt, stopping)
    done = hook.finish(job, code)
    return Outcome(attempts.FINISHED, done.outputs, done.reason)


def _tell_others(job: contract.Job, chosen: Chosen) -> None:
    """That heat-agents of this machine must not run it too. Where they cannot be told, it runs all the same."""
    try:
        room.await_room(lambda: deployed.note(job.places, job.environment, job.deployment, chosen))
    except OSError as exc:
        sys.stderr.write("heat-agents cannot be told of this run: {}\n".format(exc))


class NotStarted(Exception):
    """A program that is not there or is none."""


class CutShort(Exception):
    """The hook was ended before its own end; the text says why."""


class Watch(NamedTuple):
    """What ends a hook early, and the entry of the environment by which its processes are found."""

    timeout: Optional[float]
    stopping: Stopping
    mark: str


def _run_all(command: contract.Command, attempt: Attempt, watch: Watch) -> int:
    """Run the programs of a command one after the other; the exit code of the last, or of the first that failed."""
    deadline = time.monotonic() + watch.timeout if watch.timeout else None
    room.await_room(attempt.clear_output)
    code = 0
    for argv in [*command.before, command.argv]:
        try:
            process = _start(argv, command, attempt)
        except (OSError, ValueError) as exc:
            raise NotStarted("{} cannot be started: {}".format(argv[0], _why(argv[0], exc))) from exc
        _note(attempt, process.pid)
        _wait(process, deadline, watch, attempt)
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        if code != 0:
            break
    return code


def _why(program: str, fault: Exception) -> str:
    """Of a script that is there, what is missing is the interpreter that its first line names."""
    if isinstance(fault, FileNotFoundError) and os.path.exists(program):
        with open(program, "rb") as source:
            first = source.readline(200)
        words = first[2:].decode("utf-8", "replace").split()
        if first.startswith(b"#!") and words:
            return "its interpreter {} is not there".format(words[0])
    return str(fault)


def _note(attempt: Attempt, pid: int) -> None:
    """Name the hook's process. Without room for that it is known by its mark only, which is enough to end it."""
    try:
        attempt.note_hook(pid)
    except OSError as exc:
        if not room.is_meant(exc):
            raise


def _start(argv: List[str], command: contract.Command, attempt: Attempt) -> "subprocess.Popen[bytes]":
    with open(command.stdin or os.devnull, "rb") as stdin, open(attempt.stdout, "ab") as stdout, open(
        attempt.stderr, "ab"
    ) as stderr:
        return subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=command.environment,
            cwd=command.directory,
            start_new_session=True,
        )


def _wait(process: "subprocess.Popen[bytes]", deadline: Optional[float], watch: Watch, attempt: Attempt) -> None:
    """Wait for a program of the hook. Raises CutShort when it, with all its children, had to be ended."""
    pause, why = 0.01, ""
    while not why:
        try:
            process.wait(pause)
        except subprocess.TimeoutExpired:
            pause = min(pause * 1.5, 0.25)
        else:
            if not watch.stopping.asked:
                return
        processes.collect_adopted(process.pid)
        spool.bound(attempt.stdout, attempt.stderr)
        if watch.stopping.asked:
            why = "it was told to stop (shutdown or cancel)"
        elif deadline is not None and time.monotonic() > deadline:
            why = "it did not end within its {:g} seconds".format(watch.timeout or 0)
    processes.end(watch.mark, os.getpid(), GRACE)
    process.wait()
    raise CutShort(why)


def _reboot(job: contract.Job, attempt: Attempt, stopping: Stopping) -> Outcome:
    """The hook asked for a reboot after which it goes on. Returns only if none came, or if it asks for ever."""
    if resuming.count(attempt.directory) >= resuming.MOST:
        return _failed("the hook asked for {} reboots; that is enough".format(resuming.MOST + 1), resuming.EXIT_CODE)
    resuming.ask(attempt.directory)
    steps.note(attempt.directory, "rebooting")
    try:
        resuming.reboot(job.environment)
    except OSError as exc:
        return _failed("the hook asked for a reboot, which failed: {}".format(exc), resuming.EXIT_CODE)
    deadline = time.monotonic() + resuming.PATIENCE
    while time.monotonic() < deadline and not stopping.asked:
        time.sleep(0.2)
    if stopping.asked:
        return attempt.interrupted("the machine reboots")
    return _failed("the hook asked for a reboot, which did not come", resuming.EXIT_CODE)


def _nothing(note: str) -> Outcome:
    return Outcome(attempts.FINISHED, _texts(note, "", 0), "")


def _failed(reason: str, code: int) -> Outcome:
    return Outcome(attempts.FINISHED, _texts("", reason, code), reason)


def _texts(stdout: str, stderr: str, code: int) -> Dict[str, Any]:
    return {"deploy_stdout": stdout, "deploy_stderr": stderr, "deploy_status_code": code}
