"""Section ``users``: name -> uid, homeDir, groups."""

import grp
import pwd
from typing import Any, Dict, List

from calor.cfntools.sections import programs
from calor.cfntools.sections.contract import Run, SectionFailed, known, texts
from calor.cfntools.sections.groups import number

NAME = "users"


def apply(wanted: Dict[str, Any], run: Run) -> None:
    """New users get no login shell; one that exists is modified, but never gets another uid."""
    for name, value in sorted(wanted.items()):
        item = known(run, NAME, name, value or {}, ("uid", "homeDir", "groups"))
        uid = number(NAME, name, "uid", item.get("uid"))
        groups = texts(NAME, name, "groups", item.get("groups"))
        home = str(item.get("homeDir") or "")
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            programs.run(_new(name, uid, home, groups))
            run.note(NAME, name, True)
            continue
        if uid not in (None, found.pw_uid):
            raise SectionFailed("users: {} exists with uid {}, not {}".format(name, found.pw_uid, uid))
        run.note(NAME, name, _modified(found, home, groups))


def _new(name: str, uid: Any, home: str, groups: List[str]) -> List[str]:
    argv = ["useradd", "--shell", "/sbin/nologin"]
    argv += [] if uid is None else ["--uid", str(uid)]
    argv += ["--home-dir", home, "--create-home"] if home else []
    argv += ["--groups", ",".join(groups)] if groups else []
    argv += ["--gid", name] if _is_group(name) else []
    return [*argv, name]


def _is_group(name: str) -> bool:
    """Where there is one of the user's name, ``useradd`` refuses to make it and does not take it unasked."""
    try:
        grp.getgrnam(name)
    except KeyError:
        return False
    return True


def _modified(user: pwd.struct_passwd, home: str, groups: List[str]) -> bool:
    argv = []
    missing = [group for group in groups if not _is_member(user, group)]
    if missing:
        argv += ["--append", "--groups", ",".join(missing)]
    if home and home != user.pw_dir:
        argv += ["--home", home]
    if argv:
        programs.run(["usermod", *argv, user.pw_name])
    return bool(argv)


def _is_member(user: pwd.struct_passwd, name: str) -> bool:
    try:
        group = grp.getgrnam(name)
    except KeyError as exc:
        raise SectionFailed("users: {}: there is no group {}".format(user.pw_name, name)) from exc
    return user.pw_name in group.gr_mem or group.gr_gid == user.pw_gid
