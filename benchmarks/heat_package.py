"""The `openstack-heat` package in a virtualenv of its own, made once and kept. Nothing of it is imported here.

`python -m benchmarks.heat_package` makes it and prints its interpreter.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

RELEASE = "27.0.1"
"""The one that the reference facts were taken from."""


def folder() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "calor" / f"openstack-heat-{RELEASE}-python{sys.version_info.major}.{sys.version_info.minor}"


def interpreter() -> Path:
    """The Python that has Heat. Raises `subprocess.CalledProcessError` where it cannot be installed."""
    place = folder()
    python, complete = place / "bin" / "python", place / ".complete"
    if not complete.exists():
        print(f"Installing openstack-heat {RELEASE} into {place} (once) …", file=sys.stderr)
        venv.create(place, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([*command, f"openstack-heat=={RELEASE}"], check=True, stdout=sys.stderr)
        complete.touch()
    return python


if __name__ == "__main__":
    print(interpreter())
