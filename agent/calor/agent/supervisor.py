"""The small process that runs one hook, outside the agent's process group: it outlives the agent.

``calor-agent supervise RUN_DIRECTORY ATTEMPT_DIRECTORY`` forks once more, so that its parent is the init process,
runs the hook with its output in files, and writes the outcome.
"""

import os
import signal
import subprocess
import time
from typing import Any, Dict, Mapping, Optional

from calor.agent import attempts, hooks, places
from calor.agent.attempts import Attempt, Outcome
from calor.agent.deployments import Deployment, choose
from calor.agent.hooks import contract
from calor.agent.runs import Run

GRACE = 10.0


def main(run_directory: str, attempt_directory: str, environment: Mapping[str, str]) -> int:
    if os.fork():
        return 0
    attempt = Attempt(attempt_directory)
    handle = attempt.take()
    if handle is None:
        return 0
    stopping = Stopping()
    deployment = Run(run_directory).deployment()
    if deployment is None:
        attempt.finish(attempt.interrupted("the record of the deployment was damaged"))
        return 0
    where = places.find(environment)
    try:
        outcome = supervise(deployment, attempt, where, environment, stopping)
    except Exception as exc:  # the outermost frame: whatever it was, the stack must hear of it
        import traceback

        traceback.print_exc()
        outcome = attempt.interrupted("the hook broke: {}: {}".format(type(exc).__name__, exc))
    attempt.finish(outcome)
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
    chosen = choose(deployment)
    job = contract.Job(deployment, chosen.config, where, environment, attempt.directory)
    if not chosen.group:
        return _nothing("no configuration for action {}".format(deployment.action))
    try:
        hook = hooks.find(chosen.group, job)
        command = hook.prepare(job)
    except contract.CannotRun as exc:
        return _failed(str(exc), exc.code)
    if command is None:
        return _nothing("the configuration is empty: nothing to do")
    try:
        process = _start(command, attempt)
    except (OSError, ValueError) as exc:
        return _failed("{} hook: {} cannot be started: {}".format(chosen.group, command.argv[0], exc), 126)
    attempt.note_hook(process.pid)
    ended = _wait(process, deployment.timeout, stopping)
    if ended is not None:
        hook.finish(job, 1)
        return attempt.interrupted(ended)
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    done = hook.finish(job, code)
    return Outcome(attempts.FINISHED, done.outputs, done.reason)


def _start(command: contract.Command, attempt: Attempt) -> "subprocess.Popen[bytes]":
    with open(command.stdin or os.devnull, "rb") as stdin, open(attempt.stdout, "wb") as stdout, open(
        attempt.stderr, "wb"
    ) as stderr:
        return subprocess.Popen(
            command.argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=command.environment,
            cwd=command.directory,
            start_new_session=True,
        )


def _wait(process: "subprocess.Popen[bytes]", timeout: Optional[float], stopping: Stopping) -> Optional[str]:
    """Wait for the hook; why it was cut short, or None if it ended by itself."""
    deadline = time.monotonic() + timeout if timeout else None
    pause = 0.01
    while True:
        try:
            process.wait(pause)
        except subprocess.TimeoutExpired:
            pause = min(pause * 1.5, 0.25)
        else:
            return "it was told to stop (shutdown or cancel)" if stopping.asked else None
        if stopping.asked:
            _end(process)
            return "it was told to stop (shutdown or cancel)"
        if deadline is not None and time.monotonic() > deadline:
            _end(process)
            return "it did not end within its {:g} seconds".format(timeout or 0)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Terminate the hook's process group, then kill what is left of it."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _nothing(note: str) -> Outcome:
    return Outcome(attempts.FINISHED, _texts(note, "", 0), "")


def _failed(reason: str, code: int) -> Outcome:
    return Outcome(attempts.FINISHED, _texts("", reason, code), reason)


def _texts(stdout: str, stderr: str, code: int) -> Dict[str, Any]:
    return {"deploy_stdout": stdout, "deploy_stderr": stderr, "deploy_status_code": code}
