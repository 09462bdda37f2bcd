"""Section ``groups``: name -> gid."""

import grp
from typing import Any, Dict

from calor.cfntools.sections import programs
from calor.cfntools.sections.contract import Changes, SectionFailed

NAME = "groups"


def apply(wanted: Dict[str, Any], changes: Changes) -> None:
    """A group that exists with another gid is an error: its files would change hands."""
    for name, value in sorted(wanted.items()):
        gid = (value or {}).get("gid") if isinstance(value, (dict, type(None))) else None
        try:
            found = grp.getgrnam(name).gr_gid
        except KeyError:
            programs.run(["groupadd", *(["--gid", str(gid)] if gid not in (None, "") else []), name])
            changes.note(NAME, name)
        else:
            if gid not in (None, "") and int(str(gid)) != found:
                raise SectionFailed("groups: {} exists with gid {}, not {}".format(name, found, gid))
