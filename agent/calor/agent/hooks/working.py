"""Hooks whose work is done by our own code: in a process of its own, so that what holds for a program (output in files,
time-out, cancelling, a kill) holds for them too.

``calor-agent apply GROUP ATTEMPT_DIRECTORY`` is that process; ``calor-agent withdraw`` undoes what it left.
"""

import os
import subprocess
import sys
from typing import Dict, List, Mapping, Optional, Tuple

from calor.agent import launching, outputs, places
from calor.agent.deployments import choose
from calor.agent.hooks import contract
from calor.agent.runs import Run


class Working(contract.Hook):
    """A hook that is a function. What it prints is its output."""

    def work(self, job: contract.Job) -> int:
        """Apply the config; the status code. Raises CannotRun or OSError."""
        raise NotImplementedError

    def check(self, job: contract.Job) -> None:
        """What can be told before anything is begun. Raises CannotRun."""

    def prepare(self, job: contract.Job) -> Optional[contract.Command]:
        if not job.config and job.deployment.action != "DELETE":
            return None
        self.check(job)
        return contract.Command(launching.command("apply", self.group, job.directory), dict(job.environment))


def main(hook: contract.Hook, words: List[str], environment: Mapping[str, str]) -> int:
    """``apply GROUP DIRECTORY`` does a hook's work for the attempt with this directory, ``withdraw GROUP DIRECTORY
    gone|replaced`` ends what it left."""
    directory = words[2]
    deployment = Run(os.path.dirname(directory)).deployment()
    if deployment is None:
        sys.stderr.write("the record of the deployment in {} is damaged\n".format(directory))
        return 2
    job = contract.Job(deployment, choose(deployment).config, places.find(environment), environment, directory)
    try:
        return _act(hook, words, job)
    except contract.CannotRun as exc:
        sys.stderr.write("{}\n".format(exc))
        return exc.code
    except OSError as exc:
        sys.stderr.write("{} hook: {}\n".format(hook.group, exc))
        return 1


def _act(hook: contract.Hook, words: List[str], job: contract.Job) -> int:
    if words[0] == "apply" and isinstance(hook, Working):
        return hook.work(job)
    hook.withdraw(job, words[3] == "replaced")
    return 0


def program_environment(job: contract.Job) -> Dict[str, str]:
    """What a program starts from that a hook's work calls."""
    environment = contract.base_environment(job.environment)
    environment.update(contract.attempt_environment(job))
    return environment


def call(job: contract.Job, argv: List[str], directory: str = "/") -> int:
    """Run a program whose output is the hook's; its exit code. Raises CannotRun if it cannot be started."""
    sys.stdout.flush()
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, cwd=directory, env=program_environment(job))
    except OSError as exc:
        raise contract.CannotRun("{} cannot be started: {}".format(argv[0], exc), 126) from exc
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def ask(job: contract.Job, argv: List[str], directory: str = "/") -> Tuple[int, str]:
    """Run a program for what it prints: its exit code and standard output (of a huge one nothing). Raises CannotRun."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=directory,
            env=program_environment(job),
        )
    except OSError as exc:
        raise contract.CannotRun("{} cannot be started: {}".format(argv[0], exc), 126) from exc
    text = done.stdout if len(done.stdout) < 16 * outputs.LIMIT else b""
    return done.returncode, text.decode("utf-8", "replace")
