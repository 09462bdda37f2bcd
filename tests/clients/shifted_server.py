"""`calor` whose engine's clock is ahead of the machine's by the seconds in the file that CALOR_SHIFT names."""

import os
import runpy
from datetime import UTC, datetime, timedelta
from pathlib import Path

from calor.server.engine.durable.clock import SystemClock

SHIFT = Path(os.environ["CALOR_SHIFT"])


def now(_: SystemClock) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=int(SHIFT.read_text()))


if __name__ == "__main__":
    SystemClock.now = now  # type: ignore[method-assign]
    runpy.run_module("calor.server", run_name="__main__", alter_sys=True)
