"""Runs that go on after a reboot.

A hook whose program ends with exit code 194 asks for one: the machine is rebooted and the hook is started again. A
program that reboots by itself first makes the file ``$CALOR_RESUME_FILE``: when the run is then cut short it is started
again instead of being reported as interrupted. ``$CALOR_REBOOTS`` counts the reboots behind it. None of this uses up
the retries of the deployment.
"""

import os
import subprocess
from typing import List, Mapping

from calor.cfntools import durable

VARIABLE = "CALOR_RESUME_FILE"
COUNT = "CALOR_REBOOTS"
COMMAND = "CALOR_REBOOT_COMMAND"
EXIT_CODE = 194  # as in AWS Systems Manager's Run Command
MOST = 20
PATIENCE = 300.0


def path(directory: str) -> str:
    """The file for the attempt with this directory."""
    return os.path.join(directory, "resume")


def is_asked(directory: str) -> bool:
    return os.path.exists(path(directory))


def ask(directory: str) -> None:
    """Make it so that this attempt is followed by another, also after a power cut."""
    durable.write(path(directory), b"")


def forget(directory: str) -> None:
    """It has come to an end, or has been ended, after all."""
    durable.remove(path(directory))


def count(directory: str) -> int:
    """How many earlier attempts of the run asked to go on after a reboot."""
    run = os.path.dirname(directory)
    earlier = [name for name in os.listdir(run) if name.startswith("attempt-") and name != os.path.basename(directory)]
    return sum(is_asked(os.path.join(run, name)) for name in earlier)


def reboot(environment: Mapping[str, str]) -> None:
    """Ask the machine to reboot. Raises OSError where nothing that can is there or it refuses."""
    named = environment.get(COMMAND)
    tries: List[List[str]] = (
        [named.split()] if named else [["systemctl", "reboot"], ["shutdown", "-r", "now"], ["reboot"]]
    )
    last = OSError("no program to reboot with")
    for command in tries:
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as exc:
            last = OSError("{}: {}".format(command[0], exc))
            continue
        if done.returncode == 0:
            return
        last = OSError("{} ended with exit code {}".format(" ".join(command), done.returncode))
    raise last
