"""Section ``commands``: name -> command, env, cwd, test, ignoreErrors, runas; in the order of their names."""

import os
import pwd
import subprocess
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Union

from calor.cfntools.sections.contract import Changes, SectionFailed, entry, is_true

NAME = "commands"


class Setting(NamedTuple):
    """Where and as whom a command and its test run."""

    directory: str
    environment: Dict[str, str]
    user: Optional[str]


def apply(wanted: Dict[str, Any], changes: Changes) -> None:
    """The first failing command ends it all (F084) unless its ``ignoreErrors`` is set."""
    for name in sorted(wanted):
        item = entry(NAME, name, wanted[name])
        try:
            if _apply_one(name, item):
                changes.note(NAME, name)
        except SectionFailed as exc:
            if not is_true(item.get("ignoreErrors")):
                raise
            sys.stderr.write("cfn-init: {}; ignored\n".format(exc))


def _apply_one(name: str, item: Dict[str, Any]) -> bool:
    """False if its test says that there is nothing to do."""
    command = item.get("command")
    if not command or not isinstance(command, (str, list)):
        raise SectionFailed("commands: {} has no command".format(name))
    setting = _setting(name, item)
    test = item.get("test")
    if test and _run(name, test, setting) != 0:
        return False
    code = _run(name, command, setting)
    if code != 0:
        raise SectionFailed("commands: {}: exit code {}".format(name, code))
    return True


def _setting(name: str, item: Dict[str, Any]) -> Setting:
    directory = str(item.get("cwd") or "/")
    if not os.path.isdir(directory):
        raise SectionFailed("commands: {}: cwd {} is not there".format(name, directory))
    given = item.get("env")
    environment = dict(os.environ)
    if given is not None:
        if not isinstance(given, dict):
            raise SectionFailed("commands: {}: env must be a map".format(name))
        environment = {str(key): "" if value is None else str(value) for key, value in given.items()}
        environment.setdefault("PATH", os.environ.get("PATH", os.defpath))
    return Setting(directory, environment, str(item["runas"]) if item.get("runas") else None)


def _run(name: str, command: Union[str, List[Any]], setting: Setting) -> int:
    """Text goes through a shell, a list never does (F085); the same place and environment for a test (F086)."""
    sys.stdout.flush()
    try:
        done = subprocess.Popen(
            command if isinstance(command, str) else [str(word) for word in command],
            shell=isinstance(command, str),
            cwd=setting.directory,
            env=setting.environment,
            stdin=subprocess.DEVNULL,
            preexec_fn=_become(name, setting.user),
        )
    except (OSError, subprocess.SubprocessError) as exc:
        raise SectionFailed("commands: {}: {}".format(name, getattr(exc, "strerror", None) or exc)) from exc
    return done.wait()


def _become(name: str, user: Optional[str]) -> Optional[Callable[[], None]]:
    """What the child does before the command: take on the user, without ``su`` and its shell."""
    if user is None:
        return None
    try:
        account = pwd.getpwnam(user)
    except KeyError as exc:
        raise SectionFailed("commands: {}: there is no user {}".format(name, user)) from exc

    def become() -> None:
        os.initgroups(account.pw_name, account.pw_gid)
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)

    return become
