"""What two incarnations of a resource cannot have both at once: given up by one, taken back by the other.

A replacement is created beside what it replaces; a server's port, a fixed address, a key pair's name exist once only.
That an incarnation gives something up is durable before it does, so that whoever goes on after a crash, a failure or a
roll-back knows which one has to have it back (F014).
"""

from typing import Any

from calor.server.engine.reconcile.bench import Bench
from calor.server.engine.reconcile.removal import remove
from calor.server.engine.reconcile.stopping import Stop
from calor.server.engine.revision.kinds import typed
from calor.server.resources.base import ResourceType
from calor.server.store.rows import ResourceRow
from calor.server.store.states import Action, Status

RELEASED = "released"
"""The key among what a resource remembers."""


async def release(bench: Bench, old: ResourceRow | None, kind: ResourceType[Any], want: Any, stop: Stop) -> None:
    """Before ``want`` is created (or ``want``'s incarnation comes back): ``old`` gives up what it would share."""
    if old is None or old.physical_id is None or old.external or old.properties is None:
        return
    former = bench.kind(old)
    if former is None or type(former).release is ResourceType.release:
        return
    was = typed(former, bench.tools.sealing.value(old.properties))
    at = bench.context(old, former)
    await at.remember(**{RELEASED: True})
    grace = bench.tools.settings.create_grace.total_seconds()
    await stop.run(former.release(at, was, want if former.name == kind.name else None), grace=grace)


def is_released(bench: Bench, row: ResourceRow) -> bool:
    kind = bench.kind(row)
    if row.data is None or kind is None or type(kind).release is ResourceType.release:
        return False
    return bool(bench.tools.sealing.value(row.data).get(RELEASED))


async def reclaim(bench: Bench, row: ResourceRow, kind: ResourceType[Any], stop: Stop) -> None:
    """``row`` stays after all. What came after it goes, or gives up in its turn; then ``row`` has back what it had."""
    was = typed(kind, bench.tools.sealing.value(row.properties) or {})
    for other in bench.tree.named(bench.stack_id, row.name):
        if other.id == row.id or other.action is Action.DELETE:
            continue
        if other.action is Action.CREATE and other.status is not Status.COMPLETE:
            await remove(bench, other, stop)
        else:
            await release(bench, other, kind, was, stop)
    at = bench.context(bench.tree.rows[row.id], kind)
    grace = bench.tools.settings.create_grace.total_seconds()
    await stop.run(kind.reclaim(at, was), grace=grace)
    await at.remember(**{RELEASED: None})
