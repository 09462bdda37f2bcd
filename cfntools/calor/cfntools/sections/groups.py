"""Section ``groups``: name -> gid."""

import grp
from typing import Any, Dict

from calor.cfntools.sections import programs
from calor.cfntools.sections.contract import Run, SectionFailed, known

NAME = "groups"


def apply(wanted: Dict[str, Any], run: Run) -> None:
    """A group that exists with another gid is an error: its files would change hands."""
    for name, value in sorted(wanted.items()):
        item = known(run, NAME, name, value or {}, ("gid",))
        gid = number(NAME, name, "gid", item.get("gid"))
        try:
            found = grp.getgrnam(name).gr_gid
        except KeyError:
            programs.run(["groupadd", *([] if gid is None else ["--gid", str(gid)]), name])
            run.note(NAME, name, True)
            continue
        if gid not in (None, found):
            raise SectionFailed("groups: {} exists with gid {}, not {}".format(name, found, gid))
        run.note(NAME, name, False)


def number(section: str, name: str, key: str, value: Any) -> Any:
    """A gid or uid, None if none is given."""
    if value in (None, ""):
        return None
    if not str(value).strip().isdigit():
        raise SectionFailed("{}: {}: {} {!r} is not a number".format(section, name, key, value))
    return int(str(value))
