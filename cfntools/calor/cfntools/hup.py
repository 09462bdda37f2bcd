"""``cfn-hup``: run actions when a resource changes. One pass, for cron or a timer, unless ``--daemon``."""

import argparse
import fcntl
import os
import select
import signal
import sys
from typing import Any, List, Optional

from calor.cfntools import access, credentials, hup_settings, options
from calor.cfntools.hup_pass import new_pass
from calor.cfntools.hup_state import State
from calor.cfntools.narration import Narrator

FAULTS = (hup_settings.SettingsFault, access.NoAccess, credentials.Unreadable, OSError)


def main(arguments: Optional[List[str]] = None, native: access.Native = access.no_identity) -> int:
    parser = options.parser(
        "cfn-hup",
        "Run the actions of hooks when what they watch of a stack's resources has changed.",
        "A failed action is tried again at the next pass.",
    )
    parser.add_argument(
        "-c",
        "--config",
        help="directory of the hooks, or one that holds cfn-hup.conf, hooks.conf and hooks.d ({})".format(
            hup_settings.HOOKS
        ),
    )
    parser.add_argument("-f", "--no-daemon", action="store_true", help="one pass (which is what happens anyway)")
    parser.add_argument("--daemon", action="store_true", help="pass after pass, in the foreground, until SIGTERM")
    parser.add_argument("-v", "--verbose", action="store_true", help="say what is left alone, too")
    given = parser.parse_args(arguments)
    return _daemon(given, native) if given.daemon and not given.no_daemon else _once(given, native)


def _once(given: argparse.Namespace, native: access.Native) -> int:
    root = options.root()
    narrator = Narrator("cfn-hup", root, given.verbose)
    try:
        settings = _settings(given, root)
        narrator = Narrator("cfn-hup", root, given.verbose or settings.verbose)
        for warning in settings.warnings:
            narrator.warn(warning)
        state = State(root)
        with open(state.lock, "a", encoding="utf-8") as lock:
            if not _is_first(lock):
                narrator.say("another pass is still running")
                return 0
            if settings.umask is not None:
                os.umask(settings.umask)
            return 1 if new_pass(settings, State(root), native, narrator).run() else 0
    except FAULTS as exc:
        return narrator.fail(exc)


def _settings(given: argparse.Namespace, root: str) -> hup_settings.Settings:
    directory = given.config or os.path.join(root, hup_settings.HOOKS.lstrip("/"))
    return hup_settings.load(directory, root)


def _is_first(lock: Any) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _daemon(given: argparse.Namespace, native: access.Native) -> int:
    """Each pass reads the configuration anew: an action may have changed it. A pass that fails is not the last."""
    reading, writing = os.pipe()

    def stop(_number: int, _frame: Any) -> None:
        os.write(writing, b".")

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    while True:
        _once(given, native)
        if select.select([reading], [], [], _interval(given))[0]:
            return 0


def _interval(given: argparse.Namespace) -> float:
    try:
        return _settings(given, options.root()).interval
    except hup_settings.SettingsFault:
        return 60.0  # the pass has said what is wrong; it may be mended soon


if __name__ == "__main__":
    sys.exit(main())
