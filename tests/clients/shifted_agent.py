"""The agent with a wall clock that is ahead of the machine's by the seconds in the file that CALOR_SHIFT names.

Its supervisors have the machine's own: nothing may depend on the two being the same.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
real_time, real_gmtime = time.time, time.gmtime


def shifted_time() -> float:
    with open(os.environ["CALOR_SHIFT"], encoding="ascii") as source:
        return real_time() + int(source.read())


def shifted_gmtime(seconds: float | None = None) -> Any:
    return real_gmtime(shifted_time() if seconds is None else seconds)


if __name__ == "__main__":
    time.time, time.gmtime = shifted_time, shifted_gmtime
    sys.path[:0] = [str(ROOT / "agent"), str(ROOT / "cfntools")]
    from calor.agent.__main__ import main

    sys.exit(main())
