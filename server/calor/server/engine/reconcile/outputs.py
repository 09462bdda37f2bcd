"""Outputs of a stack: resolved from stored attributes at the end of an operation, kept, and served as kept."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from calor.server.engine.contract.views import OutputView
from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.reconcile import attributes
from calor.server.engine.reconcile.bench import Bench
from calor.server.errors import CalorError
from calor.server.store.states import Action, Status
from calor.server.template import plain, resolve, reveal

log = logging.getLogger(__name__)

NO_DESCRIPTION = "No description given"


async def refreshed(bench: Bench) -> None:
    """Fetch again what outputs refer to, where the cloud may have moved on since the resource was completed."""
    used = [name for name, uses in bench.blueprint.uses.items() if uses.in_outputs]
    await asyncio.gather(*(attributes.refresh(bench, name) for name in used))


async def refreshed_failures(bench: Bench) -> None:
    """What can be read of a resource that failed: its output says why (a deployment's exit status, a handle's data)."""
    for name in [name for name, uses in bench.blueprint.uses.items() if uses.in_outputs]:
        rows = [row for row in bench.tree.named(bench.stack_id, name) if row.action is not Action.DELETE]
        if len(rows) == 1 and rows[0].status is Status.FAILED and rows[0].physical_id is not None:
            bench.current[name] = rows[0]
            await attributes.refresh(bench, name)


def resolved(bench: Bench) -> str:
    """All outputs, sealed, in template order."""
    for row in bench.tree.rows_of(bench.stack_id):
        if row.name not in bench.current and row.action is not Action.DELETE:
            bench.current[row.name] = row
    items: list[dict[str, Any]] = []
    for name, output in bench.blueprint.model.template.outputs.items():
        item: dict[str, Any] = {"name": name, "description": output.description or NO_DESCRIPTION}
        enabled = bench.blueprint.model.outputs.get(name)
        try:
            item["value"] = None if enabled is None else plain(resolve(enabled.value, bench.scope))
        except CalorError as error:
            item |= {"value": None, "error": error.detail}
        items.append(item)
    return bench.tools.sealing.text(items)


def views(text: str | None, sealing: Sealing) -> Sequence[OutputView]:
    """Outputs as kept in a stack's row, or as just `resolved`."""
    return [
        OutputView(
            name=item["name"],
            description=item["description"],
            value=reveal(item.get("value")),
            error=item.get("error"),
        )
        for item in sealing.value(text) or ()
    ]
