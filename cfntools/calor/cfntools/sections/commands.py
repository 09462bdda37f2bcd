"""Section ``commands``: name -> command, env, cwd, test, ignoreErrors, runas, timeout, defaults; in the order of their
names."""

import json
import os
from typing import Any, Dict, Optional

from calor.cfntools import processes
from calor.cfntools.sections.contract import Run, SectionFailed, is_true, known

NAME = "commands"
KEYS = ("command", "env", "cwd", "test", "ignoreErrors", "runas", "timeout", "defaults")


def apply(wanted: Dict[str, Any], run: Run) -> None:
    """The first failing command ends it all (F084) unless its ``ignoreErrors`` is set."""
    for name in sorted(wanted):
        item = known(run, NAME, name, wanted[name], KEYS)
        try:
            run.note(NAME, name, _apply_one(name, item, run))
        except SectionFailed as exc:
            if not is_true(item.get("ignoreErrors")):
                raise
            run.narrator.warn("{}; ignored".format(exc))
            run.note(NAME, name, True)


def _apply_one(name: str, item: Dict[str, Any], run: Run) -> bool:
    """False if its test says that there is nothing to do."""
    item = _with_defaults(name, item)
    command, test = _command(name, item, "command"), _command(name, item, "test")
    if not command:
        raise SectionFailed("commands: {} has no command".format(name))
    setting = _setting(name, item)
    if test and _run(name, test, setting) != 0:
        return False
    run.narrator.detail("commands: {} begins".format(name))
    code = _run(name, command, setting)
    if code != 0:
        raise SectionFailed("commands: {}: exit code {}".format(name, code))
    return True


def _command(name: str, item: Dict[str, Any], key: str) -> processes.Command:
    """Empty where there is none. An unquoted true or false of YAML is no command."""
    found = item.get(key)
    if found is None:
        return ""
    if not isinstance(found, (str, list)):
        raise SectionFailed("commands: {}: {} {} is neither text nor a list".format(name, key, json.dumps(found)))
    return found if isinstance(found, str) else [processes.word(one) for one in found]


def _with_defaults(name: str, item: Dict[str, Any]) -> Dict[str, Any]:
    """``defaults`` is a command that prints a JSON map of further keys; the entry's own beat it, in ``env`` one by
    one."""
    if not item.get("defaults"):
        return item
    try:
        said, code = processes.output(_command(name, item, "defaults"), _setting(name, {}))
    except processes.CannotRun as exc:
        raise SectionFailed("commands: {}: defaults: {}".format(name, exc)) from exc
    try:
        found = json.loads(said.decode("utf-8")) if code == 0 else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise SectionFailed("commands: {}: defaults: exit code {}, no JSON map".format(name, code))
    whole = dict(found, **item)
    if isinstance(found.get("env"), dict) and isinstance(item.get("env") or {}, dict):
        whole["env"] = dict(found["env"], **(item.get("env") or {}))
    return whole


def _setting(name: str, item: Dict[str, Any]) -> processes.Setting:
    directory = os.path.expanduser(str(item.get("cwd") or "/"))
    if not os.path.isdir(directory):
        raise SectionFailed("commands: {}: cwd {} is not there".format(name, directory))
    given = item.get("env")
    environment = dict(os.environ)
    if given is not None:
        if not isinstance(given, dict):
            raise SectionFailed("commands: {}: env must be a map".format(name))
        environment = {str(key): processes.word(value) for key, value in given.items()}
        environment.setdefault("PATH", os.environ.get("PATH", os.defpath))
    user = str(item["runas"]) if item.get("runas") else None
    if user is not None:
        environment = dict(environment, **_identity(name, user, given or {}))
    return processes.Setting(directory, environment, user, _timeout(name, item.get("timeout")))


def _identity(name: str, user: str, given: Dict[str, Any]) -> Dict[str, str]:
    """Who the user is and where at home, as ``su`` says it; what the entry's ``env`` says stays."""
    try:
        found = processes.identity(user)
    except processes.CannotRun as exc:
        raise SectionFailed("commands: {}: {}".format(name, exc)) from exc
    return {key: value for key, value in found.items() if key not in given}


def _timeout(name: str, value: Any) -> Optional[float]:
    if value in (None, ""):
        return None
    try:
        seconds = float(str(value))
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise SectionFailed("commands: {}: timeout {!r} is no number of seconds".format(name, value))
    return seconds


def _run(name: str, command: processes.Command, setting: processes.Setting) -> int:
    """The same place and environment for a test (F086) as for the command."""
    try:
        return processes.run(command, setting)
    except processes.CannotRun as exc:
        raise SectionFailed("commands: {}: {}".format(name, exc)) from exc
