"""The Pythons that guest code is run under."""

import os
import shutil
import sys
from pathlib import Path

NEWEST = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "calor" / "pythons"
"""Debian sid's, unpacked by ``newest_pythons`` of scripts/environment.sh."""


def at_hand() -> list[str]:
    """This Python, and every Python 3.6 or newer of the system, of pyenv and of Debian sid."""
    found = [sys.executable, shutil.which("python3", path="/usr/bin")]
    found += [str(path) for path in (Path.home() / ".pyenv/versions").glob("3.*/bin/python3")]
    found += [str(path) for path in (NEWEST / "usr/bin").glob("python3.*")]
    return sorted({os.path.realpath(one) for one in found if one and os.access(one, os.X_OK)})
