"""cfn-hup's configuration: ``cfn-hup.conf``, ``hooks.conf`` and the files of ``hooks.d``."""

import configparser
import os
import re
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Tuple

from calor.cfntools.credentials import Given

DIRECTORY = "/etc/cfn"
HOOKS = "/etc/cfn/hooks.d"
EVENTS = ("post.add", "post.update", "post.remove", "service.restarted")
COMMANDS = "on.command"
ACCEPTED = ("region", "role", "multi-threaded")
"""What files written for Heat's and AWS's cfn-hup may have and is nothing here."""
MAIN_KEYS = ("stack", "credential-file", "url", "interval", "umask", "verbose", "attempts", *ACCEPTED)
HOOK_KEYS = ("triggers", "path", "action", "runas")
LEFT_OVER = re.compile(r"^\.|~$|\.(bak|orig|rpmsave|rpmnew|rpmorig|dpkg-[a-z]+|swp)$")
PATH = re.compile(r"^resources\.([^.]+)(?:\.(metadata|physicalresourceid)(?:\.(.+))?)?$", re.IGNORECASE)


class SettingsFault(Exception):
    """The configuration cannot be used; the message names the file or section, and the key."""


class Hook(NamedTuple):
    """What is done on which event of which part of a resource. ``part`` is "", "metadata" or "physicalresourceid";
    ``key`` a dotted key below the metadata."""

    name: str
    triggers: FrozenSet[str]
    path: str
    resource: str
    part: str
    key: str
    action: str
    runas: Optional[str]


class Settings(NamedTuple):
    """``interval`` is in seconds; ``attempts`` is how often a failing action is tried for one change; ``warnings`` are
    of keys that have no effect."""

    stack: str
    given: Given
    interval: float
    umask: Optional[int]
    verbose: bool
    attempts: int
    hooks: List[Hook]
    warnings: List[str]


def load(directory: str, root: str) -> Settings:
    """``directory`` is AWS's (it holds cfn-hup.conf) or Heat's (it holds the hooks alone). Raises SettingsFault."""
    main = os.path.join(directory, "cfn-hup.conf")
    if os.path.exists(main):
        base, hooks = directory, os.path.join(directory, "hooks.d")
    else:
        base, hooks = os.path.join(root, DIRECTORY.lstrip("/")), directory
        main = os.path.join(base, "cfn-hup.conf")
    if not os.path.exists(main):
        raise SettingsFault("there is no main configuration {}".format(main))
    found = _main(_parsed(main), main, root)
    files = [os.path.join(base, "hooks.conf")] if os.path.exists(os.path.join(base, "hooks.conf")) else []
    files += [os.path.join(hooks, name) for name in _names(hooks)]
    listed: Dict[str, Hook] = {}
    warnings = list(found.warnings)
    for file in files:
        parser = _parsed(file)
        for name in parser.sections():
            if name != "main":
                values = _values(parser, name)
                listed[name] = _hook(name, values, file)
                warnings += _unknown(values, HOOK_KEYS, file, name)
    if not listed:
        raise SettingsFault("there are no hooks in {} or {}".format(os.path.join(base, "hooks.conf"), hooks))
    return found._replace(hooks=list(listed.values()), warnings=warnings)


def _names(directory: str) -> List[str]:
    """Editors' and package managers' left-overs are no hooks, and neither are our own backups."""
    names = os.listdir(directory) if os.path.isdir(directory) else []
    return sorted(
        name for name in names if not LEFT_OVER.search(name) and os.path.isfile(os.path.join(directory, name))
    )


def _parsed(path: str) -> configparser.ConfigParser:
    """``%%`` is a percent sign, as for Heat's and AWS's cfn-hup; one that means nothing stands for itself."""
    parser = configparser.ConfigParser(strict=False)
    try:
        with open(path, encoding="utf-8") as source:
            parser.read_file(source)
    except (OSError, configparser.Error, UnicodeError) as exc:
        raise SettingsFault("{}: {}".format(path, getattr(exc, "strerror", None) or exc)) from exc
    return parser


def _unknown(values: Dict[str, str], known: Tuple[str, ...], file: str, section: str) -> List[str]:
    form = "{}: [{}]: key {} is not known and has no effect"
    return [form.format(file, section, key) for key in values if key not in known]


def _values(parser: configparser.ConfigParser, section: str) -> Dict[str, str]:
    return {key: _value(parser, section, key) for key in parser[section]}


def _value(parser: configparser.ConfigParser, section: str, key: str) -> str:
    try:
        return parser.get(section, key)
    except configparser.InterpolationError:
        return parser.get(section, key, raw=True)


def _main(parser: configparser.ConfigParser, path: str, root: str) -> Settings:
    values = _values(parser, "main") if parser.has_section("main") else {}
    if not values.get("stack"):
        raise SettingsFault("{}: [main] has no stack".format(path))
    if values.get("sqs_url"):
        raise SettingsFault("{}: sqs_url: there is no SQS here".format(path))
    return Settings(
        stack=values["stack"],
        given=Given(values.get("url"), None, None, values.get("credential-file"), root),
        interval=60.0 * _number(path, values, "interval", 10),
        umask=_umask(path, values.get("umask")),
        verbose=values.get("verbose", "").lower() in ("true", "yes", "1", "on"),
        attempts=int(_number(path, values, "attempts", 10)),
        hooks=[],
        warnings=_unknown(values, MAIN_KEYS, path, "main"),
    )


def _number(path: str, values: Dict[str, str], key: str, default: float) -> float:
    try:
        found = float(values.get(key) or default)
    except ValueError:
        found = 0
    if found < 1:
        raise SettingsFault("{}: {} {!r} is no number from 1 on".format(path, key, values[key]))
    return found


def _umask(path: str, text: Optional[str]) -> Optional[int]:
    try:
        return int(text, 8) if text else None
    except ValueError as exc:
        raise SettingsFault("{}: umask {!r} is not octal".format(path, text)) from exc


def _hook(name: str, values: Dict[str, str], file: str) -> Hook:
    where = "{}: [{}]".format(file, name)
    for key in ("triggers", "path", "action"):
        if not values.get(key):
            raise SettingsFault("{} has no {}".format(where, key))
    triggers = frozenset(word for word in re.split(r"[\s,]+", values["triggers"]) if word)
    if COMMANDS in triggers:
        raise SettingsFault("{}: the trigger {} needs SQS, which is not here".format(where, COMMANDS))
    unknown = sorted(triggers - set(EVENTS))
    if unknown:
        raise SettingsFault("{}: unknown trigger {}; known: {}".format(where, unknown[0], ", ".join(EVENTS)))
    path = PATH.match(values["path"].strip())
    if path is None:
        raise SettingsFault(
            "{}: path {} is not Resources.NAME, Resources.NAME.Metadata[.KEY] or "
            "Resources.NAME.PhysicalResourceId".format(where, values["path"])
        )
    resource, part, key = path.group(1), (path.group(2) or "").lower(), path.group(3) or ""
    return Hook(
        name, triggers, values["path"].strip(), resource, part, key, values["action"], values.get("runas") or None
    )
