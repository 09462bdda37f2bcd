"""Running a user's command: as whom, where, with which environment, and for how long at most."""

import json
import os
import pwd
import signal
import subprocess
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

Command = Union[str, List[str]]
GRACE = 5.0


class CannotRun(Exception):
    """It did not run, or not to its end; the message says why."""


class Setting(NamedTuple):
    """``user`` None: whoever runs this; ``timeout`` in seconds."""

    directory: str
    environment: Dict[str, str]
    user: Optional[str] = None
    timeout: Optional[float] = None


def word(value: Any) -> str:
    """A value of JSON as a word of a command or environment: text as it is, nothing for null, else as JSON has it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def identity(user: str) -> Dict[str, str]:
    """What the environment says of a user. Raises CannotRun where there is none of that name."""
    account = _account(user)
    return {"HOME": account.pw_dir, "USER": user, "LOGNAME": user}


def run(command: Command, setting: Setting) -> int:
    """Run it to its end, its output goes to ours. The exit code, 128 + n for signal n."""
    sys.stdout.flush()
    process = _start(command, setting, None)
    _wait(process, setting.timeout)
    return _code(process)


def output(command: Command, setting: Setting) -> Tuple[bytes, int]:
    """Its standard output and exit code."""
    process = _start(command, setting, subprocess.PIPE)
    said, _ = process.communicate()
    return said, _code(process)


def _start(command: Command, setting: Setting, stdout: Optional[int]) -> "subprocess.Popen[bytes]":
    """Text goes through a shell, a list never does (F085). What has a time-out gets a process group of its own, to be
    ended with all its children."""
    become = _become(setting.user)
    try:
        return subprocess.Popen(
            command,
            shell=isinstance(command, str),
            cwd=setting.directory,
            env=setting.environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            preexec_fn=become,
            start_new_session=setting.timeout is not None,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as exc:  # ValueError: a NUL, or an = in a name
        raise CannotRun(getattr(exc, "strerror", None) or exc) from exc


def _wait(process: "subprocess.Popen[bytes]", timeout: Optional[float]) -> None:
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired as exc:
        _end(process)
        raise CannotRun("ended after its timeout of {:g} s".format(timeout or 0)) from exc
    except KeyboardInterrupt:
        _end(process)
        raise


def _end(process: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except OSError:
            break  # nobody of it is left
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _code(process: "subprocess.Popen[bytes]") -> int:
    code = process.returncode
    return code if code >= 0 else 128 - code


def _become(user: Optional[str]) -> Optional[Callable[[], None]]:
    """What the child does before the command: take on the user, without ``su`` and its shell."""
    if user is None:
        return None
    account = _account(user)
    if account.pw_uid == os.getuid():
        return None

    def become() -> None:
        os.initgroups(account.pw_name, account.pw_gid)
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)

    return become


def _account(user: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(user)
    except KeyError as exc:
        raise CannotRun("there is no user {}".format(user)) from exc
