"""Section ``users``: name -> uid, homeDir, groups."""

import pwd
from typing import Any, Dict, List

from calor.cfntools.sections import programs
from calor.cfntools.sections.contract import Changes, SectionFailed, entry

NAME = "users"


def apply(wanted: Dict[str, Any], changes: Changes) -> None:
    """New users get no login shell; one that exists is modified, but never gets another uid."""
    for name, value in sorted(wanted.items()):
        item = entry(NAME, name, value or {})
        uid = str(item["uid"]) if item.get("uid") not in (None, "") else ""
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            programs.run(["useradd", *_new(uid, item), *_groups(item, "--groups"), "--shell", "/sbin/nologin", name])
            changes.note(NAME, name)
            continue
        if uid and int(uid) != found.pw_uid:
            raise SectionFailed("users: {} exists with uid {}, not {}".format(name, found.pw_uid, uid))
        changed = [*_groups(item, "--append", "--groups")]
        if item.get("homeDir") and item["homeDir"] != found.pw_dir:
            changed += ["--home", str(item["homeDir"])]
        if changed:
            programs.run(["usermod", *changed, name])
            changes.note(NAME, name)


def _new(uid: str, item: Dict[str, Any]) -> List[str]:
    home = ["--home-dir", str(item["homeDir"]), "--create-home"] if item.get("homeDir") else []
    return [*(["--uid", uid] if uid else []), *home]


def _groups(item: Dict[str, Any], *flags: str) -> List[str]:
    groups = item.get("groups") or []
    names = [groups] if isinstance(groups, str) else [str(one) for one in groups]
    return [*flags, ",".join(names)] if names else []
