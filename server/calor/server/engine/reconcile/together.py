"""Work that has no effect outside and waits for nothing: many pieces in one go, with one commit for all.

Nothing has to be durable before such a piece begins (there is no intent to remember), and what depends on it may begin
before it is durable as long as that has no effect outside either: a crash loses the whole group, and the next process
does it again.
"""

import asyncio
import copy
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.exc import SQLAlchemyError

from calor.server.engine.reconcile.bench import Bench
from calor.server.engine.reconcile.deciding import has_names
from calor.server.engine.reconcile.stopping import Stop
from calor.server.engine.reconcile.walk import Key, Task
from calor.server.store.rows import ResourceRow
from calor.server.store.writes import LeaseLost

log = logging.getLogger(__name__)

GROUP = 250
"""Pieces that share a commit at most."""
TURN = 0.005
"""Seconds after which everybody else on the event loop has a turn."""

Work = Callable[[Bench, Key, Stop], Awaitable[None]]


@dataclass(eq=False)
class Flight:
    """One piece of work under way, and how it ended."""

    key: Key
    generation: int
    stop: Stop = field(default_factory=Stop)
    task: "asyncio.Task[None] | None" = None
    error: BaseException | None = None


def is_instant(bench: Bench, key: Key) -> bool:
    """Whether a piece of work and all that it may lead to can be part of a group."""
    rows = bench.tree.named(bench.stack_id, key.name)
    if bench.batch.is_limited or bench.blueprint.model.environment.hooks(key.name):
        return False
    if key.task == Task.REMOVE.value:
        return _are_instant(bench, [row for row in rows if row.id == key.subject])
    if key.task != Task.APPLY.value:
        return False
    kind = bench.blueprint.kinds[key.name]
    if not kind.instant or has_names(kind) or bench.blueprint.definition(key.name).external_id is not None:
        return False
    moved = bench.moved & bench.blueprint.graph.requires[key.name]
    return all(bench.blueprint.kinds[name].pure for name in moved) and _are_instant(bench, rows)


def _are_instant(bench: Bench, rows: Sequence[ResourceRow]) -> bool:
    kinds = [bench.kind(row) for row in rows]
    return all(kind is not None and kind.instant for kind in kinds) and not any(row.external for row in rows)


@dataclass
class Group:
    """Pieces done one after the other in a draft of the tree. ``more`` gives those that a finished one, the last of
    these, leaves waiting for nothing else."""

    bench: Bench
    work: Work
    more: Callable[[Key, set[Key]], Iterable[Flight]]

    async def run(self, pieces: list[Flight]) -> bool:
        """Do the pieces and what comes up, which is added to them. False where the database refused what they wrote:
        then nothing is done, and each is to be tried by itself."""
        drafting, former = copy.copy(self.bench), dict[str, ResourceRow | None]()
        draft = drafting.tree = self.bench.tree.draft()
        finished, turn = set[Key](), _turn()
        for piece in pieces:
            former[piece.key.name] = self.bench.current.get(piece.key.name)
            try:
                await self.work(drafting, piece.key, piece.stop)
            except Exception as error:
                piece.error = error
            else:
                finished.add(piece.key)
                if len(pieces) < GROUP:
                    pieces.extend(self.more(piece.key, finished))
            if asyncio.get_running_loop().time() > turn:
                await asyncio.sleep(0)
                turn = _turn()
        try:
            await draft.store()
        except SQLAlchemyError as error:
            log.warning("a group of resources could not be stored", extra={"error": str(error.__cause__ or error)})
            self._forget(former)
            return False
        except LeaseLost as error:
            for piece in pieces:
                piece.error = error
        self.bench.changed = self.bench.changed or drafting.changed
        return True

    def _forget(self, former: Mapping[str, ResourceRow | None]) -> None:
        for name, row in former.items():
            if row is None:
                self.bench.current.pop(name, None)
            else:
                self.bench.current[name] = row


def _turn() -> float:
    return asyncio.get_running_loop().time() + TURN
