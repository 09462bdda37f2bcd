"""Where a deployment is on its way, from its row and from what is known of its guest. Pure."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from calor.server.engine.contract.progress_views import RunState
from calor.server.engine.guests import outcomes
from calor.server.engine.guests.contacts import Contact
from calor.server.store.rows import DeploymentRow

_COUNT = re.compile(r"(\d{1,6})\s*(?:/|of)\s*(\d{1,6})")
_ENDED = {outcomes.INTERRUPTED: RunState.INTERRUPTED, outcomes.CANCELLED: RunState.CANCELLED}


def state_of(row: DeploymentRow, outcome: str | None, contact: Contact, now: datetime) -> RunState:
    """``outcome`` is that of the run's result, if one came."""
    if row.status != "IN_PROGRESS":
        if row.cancelled_at is not None and row.status == "FAILED" and outcome != outcomes.FINISHED:
            return RunState.CANCELLED
        return _ENDED.get(outcome or "", RunState.FINISHED)
    if contact.is_unreachable(now):
        return RunState.UNREACHABLE
    if row.cancelled_at is not None:
        return RunState.CANCELLING
    if running_of(row, contact):
        return RunState.RUNNING
    return RunState.FETCHED if row.run_id in contact.fetched else RunState.QUEUED


def running_of(row: DeploymentRow, contact: Contact) -> Mapping[str, Any]:
    """What the last heartbeat said of a run; nothing if it did not name it."""
    return next((one for one in contact.running if one.get("run_id") == row.run_id), {})


def percent_of(doing: str) -> int | None:
    """``3 of 8 …`` or ``3/8 …``, as hooks write it: so many steps are begun, one less is done."""
    found = _COUNT.search(doing)
    if found is None:
        return None
    number, total = int(found[1]), int(found[2])
    return None if not 0 < number <= total else (number - 1) * 100 // total
