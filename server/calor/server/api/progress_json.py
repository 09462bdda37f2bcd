"""JSON of what goes on inside instances. All of it is Calor's own: stock clients never ask for it."""

import base64
from collections.abc import Mapping
from typing import Any

from calor.server.api.links import time_text
from calor.server.engine.contract.progress_views import (
    GuestView,
    OutputPage,
    PieceView,
    ProgressView,
    RunView,
    StackPlace,
)


def progress(view: ProgressView) -> dict[str, Any]:
    return {
        "guests": [_guest(guest) for guest in view.guests],
        "deployments": [run(one) for one in view.runs],
    }


def run(view: RunView) -> dict[str, Any]:
    """A deployment, or a run of one on demand (``on_demand_of`` is then the deployment's id)."""
    return {
        "id": view.id,
        "run_id": view.run_id,
        "on_demand_of": view.source_id,
        **_place(view.place),
        "server_id": view.server_id,
        "server_name": view.server_name,
        "name": view.name,
        "action": view.action,
        "status": view.status,
        "status_reason": view.status_reason,
        "state": view.state.value,
        "step": view.step,
        "percent": view.percent,
        "last_output": view.last_output,
        "last_output_time": time_text(view.last_output_at),
        "asked_by": view.asked_by,
        "input_values": dict(view.input_values),
        "output_values": dict(view.output_values),
        "creation_time": time_text(view.created_at),
        "updated_time": time_text(view.updated_at),
    }


def output(page: OutputPage) -> dict[str, Any]:
    return {"pieces": [piece(one) for one in page.pieces], "next": page.next, "over": page.over}


def piece(view: PieceView) -> dict[str, Any]:
    """``text`` is for reading; ``data`` has the same bytes in base64 where they are no UTF-8."""
    found = {
        "number": view.number,
        **_place(view.place),
        "deployment_id": view.deployment_id,
        "run_id": view.run_id,
        "attempt": view.attempt,
        "stream": view.stream,
        "offset": view.begin,
        "end": view.end,
        "time": time_text(view.at),
        "text": view.data.decode("utf-8", "replace"),
    }
    if found["text"].encode() != view.data:
        found["data"] = base64.b64encode(view.data).decode("ascii")
    return found


def _guest(view: GuestView) -> dict[str, Any]:
    verdict: Mapping[str, Any] | None = view.verdict
    return {
        **_place(view.place),
        "server_id": view.server_id,
        "state": view.state,
        "detail": view.detail,
        "last_contact": time_text(view.last_contact),
        "agent": view.agent,
        "cloud_init": dict(verdict) if verdict is not None else None,
    }


def _place(place: StackPlace) -> dict[str, Any]:
    found = {"stack_id": place.stack_id, "stack_name": place.stack_name, "resource_name": place.resource_name}
    return {**found, "resource_path": place.path} if place.path else found
