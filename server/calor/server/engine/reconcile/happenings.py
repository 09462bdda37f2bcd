"""Events of stacks and resources, as rows."""

import uuid
from datetime import datetime

from calor.server.engine.durable.reasons import bounded
from calor.server.engine.revision.naming import physical_name
from calor.server.store.models import Event
from calor.server.store.rows import ResourceRow, StackRow
from calor.server.store.states import Action, Status
from calor.server.store.writes import Insert

STACK_TYPE = "OS::Heat::Stack"
STATE_CHANGED = "state changed"
NAME_LIMIT = 255


def of_stack(stack: StackRow, action: Action, status: Status, reason: str, at: datetime) -> Insert:
    return event(stack, stack.name, STACK_TYPE, stack.id, action, status, reason, at)


def of_resource(
    stack: StackRow,
    row: ResourceRow,
    action: Action,
    status: Status,
    at: datetime,
    reason: str = STATE_CHANGED,
) -> Insert:
    """Of what has no id in the cloud yet, the event has the name that it will be known by there, as Heat's."""
    known = row.physical_id or physical_name(stack.name, row.name, row.id, NAME_LIMIT)
    return event(stack, row.name, row.type, known, action, status, reason, at)


def event(
    stack: StackRow,
    name: str,
    kind: str,
    physical_id: str | None,
    action: Action,
    status: Status,
    reason: str,
    at: datetime,
) -> Insert:
    return Insert(
        Event,
        {
            "id": str(uuid.uuid4()),
            "stack_id": stack.id,
            "root_id": stack.root_id,
            "resource_name": name,
            "resource_type": kind[:1024],
            "physical_id": physical_id,
            "action": action,
            "status": status,
            "reason": bounded(reason),
            "at": at,
        },
    )
