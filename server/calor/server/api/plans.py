"""Calor's own: plans of what a creation or an update would do."""

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from calor.server.api import stack_requests
from calor.server.api.calls import Call, json_answer
from calor.server.api.faults import HTTPBadRequest
from calor.server.engine.contract.plan_views import PlannedStep

HEADER = "X-Calor-Plan"
"""The id of the plan that an update is bound to."""


async def create(call: Call) -> web.Response:
    """The body of an update, with ``stack_name``. Of a stack that does not exist, its creation is planned."""
    body = await call.body()
    name = body.pop("stack_name", None)
    if not isinstance(name, str):
        raise HTTPBadRequest("'stack_name' is missing: give the name of a stack.")
    view = await call.services.plans.plan(call.caller, stack_requests.read_plan(body, call.limits, name))
    return json_answer(
        {
            "plan": {
                "id": view.id,
                "stack_name": name,
                "stack_id": None if view.stack is None else view.stack.id,
                "counts": view.counts,
                "steps": [_step(step) for step in view.steps],
            }
        }
    )


def _step(step: PlannedStep) -> Mapping[str, Any]:
    return {
        "path": list(step.path),
        "resource_type": step.type,
        "action": step.action.value,
        "reasons": list(step.reasons),
        "changes": [
            {"property": one.name, "old": one.old, "new": one.new, "forces_replacement": one.forces_replacement}
            for one in step.changes
        ],
        "physical_resource_id": step.physical_id,
        "destroys_data": step.destroys_data,
        "retained": step.retain,
        "refused": step.refused,
    }
