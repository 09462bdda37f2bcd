"""The reconciler of one stack: starts what is ready, takes in what has ended, until the goal is reached or not."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from calor.server.engine.durable.reasons import of_exception, place_of
from calor.server.engine.durable.tree import Tree
from calor.server.engine.reconcile.apply import Applying
from calor.server.engine.reconcile.bench import Bench, Superseded, WorkFailed
from calor.server.engine.reconcile.failing import Unfinished
from calor.server.engine.reconcile.removal import remove
from calor.server.engine.reconcile.stopping import Stop, StopKind, StopReason
from calor.server.engine.reconcile.together import GROUP, Flight, Group, Work, is_instant
from calor.server.engine.reconcile.visits import visit
from calor.server.engine.reconcile.walk import Key, Task, Walk
from calor.server.store.rows import ResourceRow
from calor.server.store.states import Action
from calor.server.store.writes import LeaseLost

SIBLING_GRACE = 3.0
"""Seconds that work in flight gets to end by itself once a sibling has failed."""


@dataclass(frozen=True)
class Outcome:
    """``reasons`` are the failures, the first one first; each begins with the class of its cause."""

    reasons: tuple[str, ...] = ()
    stopped: StopReason | None = None

    @property
    def is_good(self) -> bool:
        return not self.reasons and self.stopped is None


Blockers = Callable[[Key], set[Key]]
"""What a key must wait for that has come up meanwhile."""


class Run:
    """One stack of a tree, as long as the tree is worked on. A newer goal supersedes the one before: work in flight
    goes on, and each resource is compared again when its work has ended."""

    def __init__(self, tree: Tree, stack_id: str) -> None:
        self._tree = tree
        self._stack_id = stack_id
        self._flights: dict[str, Flight] = {}
        self._ended: list[Flight] = []
        self._woken = asyncio.Event()
        self._generation = 0
        self._stopped: StopReason | None = None

    def supersede(self) -> None:
        """End the current goal with `Superseded`; what is in flight stays."""
        self._generation += 1
        self._stopped = None
        self._woken.set()

    def stop_all(self, reason: StopReason) -> None:
        """Start nothing more, and ask what is in flight to end."""
        self._stopped = reason
        for flight in self._flights.values():
            flight.stop.ask(reason)
        self._woken.set()

    async def landed(self) -> None:
        """Wait till nothing is in flight."""
        while self._flights:
            await asyncio.wait([flight.task for flight in self._flights.values() if flight.task is not None])
            await asyncio.sleep(0)

    async def kill(self) -> None:
        """The process ends now: no more waiting for what is in flight. Rows say what the next one must look after."""
        tasks = [flight.task for flight in self._flights.values() if flight.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def converge(self, bench: Bench) -> Outcome:
        """Bring the rows to the blueprint. Raises `Superseded`, `Unfinished`, `LeaseLost`."""
        walk = Walk()
        surplus = _Surplus(bench, walk)
        keys = {
            Key.apply(name): {Key.apply(other) for other in bench.blueprint.graph.requires[name]}
            for name in bench.blueprint.graph.order
        }
        walk.extend(keys)
        surplus.add([row for row in self._tree.rows_of(self._stack_id) if row.name not in bench.blueprint.kinds])

        def ended(key: Key) -> None:
            if key.task == Task.APPLY.value:
                surplus.add(surplus.replaced(key.name))

        return await self._walk(bench, walk, _apply_or_remove, ended=ended, blockers=surplus.blockers)

    async def empty(self, bench: Bench, keep: StopReason | None = None) -> Outcome:
        """Stop what is in flight and delete everything. Others go on where one fails."""
        self._generation += 1
        for flight in self._flights.values():
            flight.stop.ask(keep or StopReason(StopKind.CANCEL, "the stack is being deleted"))
        walk = Walk()
        rows = self._tree.rows_of(self._stack_id)
        users = _users(rows)
        walk.extend(
            {
                Key.remove(row.name, row.id): {
                    Key.remove(user.name, user.id) for user in users.get(row.name, ()) if user.id != row.id
                }
                for row in rows
            }
        )

        while True:
            outcome = await self._walk(bench, walk, _apply_or_remove, independent=True)
            late = [row for row in self._tree.rows_of(self._stack_id) if Key.remove(row.name, row.id) not in walk]
            if not late or not outcome.is_good:
                return outcome
            walk.extend({Key.remove(row.name, row.id): set() for row in late})  # stored while it was being stopped

    async def visit(self, bench: Bench, action: Action) -> Outcome:
        """Suspend, resume or check each resource, in (reverse) dependency order."""
        walk = Walk()
        rows = {row.name: row for row in self._tree.rows_of(self._stack_id) if row.action is not Action.DELETE}
        bench.current.update(rows)
        keys = {row.name: Key.visit(row.name, row.id) for row in rows.values()}
        needs: dict[Key, set[Key]] = {key: set() for key in keys.values()}
        for row in rows.values():
            for other in row.requires:
                if other in keys and action is Action.SUSPEND:
                    needs[keys[other]].add(keys[row.name])
                elif other in keys:
                    needs[keys[row.name]].add(keys[other])
        walk.extend(needs)

        async def work(bench: Bench, key: Key, stop: Stop) -> None:
            if (row := bench.tree.rows.get(key.subject)) is not None:
                await visit(bench, row, action, stop)

        return await self._walk(bench, walk, work)

    async def _walk(
        self,
        bench: Bench,
        walk: Walk,
        work: Work,
        *,
        ended: Callable[[Key], None] | None = None,
        blockers: Blockers | None = None,
        independent: bool = False,
    ) -> Outcome:
        self._generation += 1
        mine, failures = self._generation, list[str]()
        grace: asyncio.TimerHandle | None = None
        try:
            while True:
                self._woken.clear()
                failures += self._take_in(walk, mine, ended)
                if self._generation != mine:
                    raise Superseded
                if failures and not independent and grace is None:
                    reason = StopReason(StopKind.CANCEL, f"another resource failed: {place_of(failures[0])}")
                    grace = asyncio.get_running_loop().call_later(SIBLING_GRACE, self._stop_siblings, reason)
                if self._stopped is None and (independent or not failures):
                    self._start_ready(bench, walk, work, mine, blockers)
                if not self._flights:
                    if self._stopped is not None and self._stopped.kind is StopKind.SHUTDOWN:
                        raise Unfinished
                    if failures or self._stopped is not None or not walk.cut_knot():
                        return Outcome(tuple(failures), self._stopped)
                    continue
                await self._woken.wait()
        finally:
            if grace is not None:
                grace.cancel()

    def _stop_siblings(self, reason: StopReason) -> None:
        for flight in self._flights.values():
            flight.stop.ask(reason)

    def _take_in(self, walk: Walk, mine: int, ended: Callable[[Key], None] | None) -> list[str]:
        failures = []
        batch, self._ended = self._ended, []
        for flight in batch:
            if isinstance(flight.error, LeaseLost | Unfinished):
                raise flight.error
            if flight.generation != mine:
                continue
            if flight.error is None:
                if ended is not None:
                    ended(flight.key)
                walk.done(flight.key)
            elif isinstance(flight.error, WorkFailed):
                failures.append(flight.error.reason)
            elif isinstance(flight.error, Superseded):
                walk.put_back(flight.key)
            else:
                failures.append(of_exception(flight.error))
        return failures

    def _start_ready(self, bench: Bench, walk: Walk, work: Work, mine: int, blockers: Blockers | None) -> None:
        instant: list[Flight] = []
        for key in walk.take_ready():
            if blockers is not None and walk.require(key, blockers(key)):
                continue
            if key.name in self._flights:
                walk.put_back(key)
                continue
            flight = self._flights[key.name] = Flight(key, mine)
            if is_instant(bench, key):
                instant.append(flight)
            else:
                flight.task = asyncio.create_task(self._fly([flight], bench, work))
        for start in range(0, len(instant), GROUP):
            flights = instant[start : start + GROUP]
            task = asyncio.create_task(self._fly_together(flights, bench, walk, work, blockers))
            for flight in flights:
                flight.task = task

    async def _fly(self, flights: Sequence[Flight], bench: Bench, work: Work) -> None:
        for flight in flights:
            flight.error = None
            try:
                await work(bench, flight.key, flight.stop)
            except Exception as error:
                flight.error = error
            finally:
                self._land(flight)

    def _land(self, flight: Flight) -> None:
        del self._flights[flight.key.name]
        self._ended.append(flight)
        self._woken.set()

    async def _fly_together(
        self, flights: Sequence[Flight], bench: Bench, walk: Walk, work: Work, blockers: Blockers | None
    ) -> None:
        """Instant work as a group; where that could not be stored as a whole, one after the other."""
        pieces, claimed, stored = list(flights), dict[Key, set[Key]](), True

        def more(finished: Key, worked: set[Key]) -> list[Flight]:
            ready = walk.claim(finished, worked) if self._is_current(flights[0]) else {}
            taken = {key: needs for key, needs in ready.items() if self._may_follow(bench, key, blockers)}
            walk.reclaim({key: needs for key, needs in ready.items() if key not in taken})
            claimed.update(taken)
            fresh = [Flight(key, flights[0].generation, task=flights[0].task) for key in taken]
            self._flights.update({flight.key.name: flight for flight in fresh})
            return fresh

        try:
            stored = await Group(bench, work, more).run(pieces)
        except Exception as error:
            for flight in pieces:
                flight.error = error
        finally:
            if stored:
                for flight in pieces:
                    self._land(flight)
        if not stored:
            for key in claimed:
                del self._flights[key.name]
            walk.reclaim(claimed)
            await self._fly(flights, bench, work)

    def _is_current(self, flight: Flight) -> bool:
        return self._generation == flight.generation and self._stopped is None

    def _may_follow(self, bench: Bench, key: Key, blockers: Blockers | None) -> bool:
        return key.name not in self._flights and is_instant(bench, key) and not (blockers and blockers(key))


async def _apply_or_remove(bench: Bench, key: Key, stop: Stop) -> None:
    if key.task == Task.APPLY.value:
        await Applying(bench, key.name, stop).run()
    elif (row := bench.tree.rows.get(key.subject)) is not None:  # else it has gone meanwhile
        await remove(bench, row, stop)


class _Surplus:
    """Rows that the revision does not want any more, and when they may go: after all that used them has been
    re-pointed or is gone."""

    def __init__(self, bench: Bench, walk: Walk) -> None:
        self._bench = bench
        self._walk = walk
        self._users: dict[str, set[str]] = {}
        for row in bench.tree.rows_of(bench.stack_id):
            for name in row.requires:
                self._users.setdefault(name, set()).add(row.name)
        for name, needs in bench.blueprint.graph.requires.items():
            for other in needs:
                self._users.setdefault(other, set()).add(name)

    def add(self, rows: list[ResourceRow]) -> None:
        self._walk.extend(
            {
                Key.remove(row.name, row.id): {
                    Key.apply(user) for user in self._users.get(row.name, ()) if user in self._bench.blueprint.kinds
                }
                for row in rows
            }
        )

    def replaced(self, name: str) -> list[ResourceRow]:
        current = self._bench.current.get(name)
        return [
            row for row in self._bench.tree.named(self._bench.stack_id, name) if current is None or row.id != current.id
        ]

    def blockers(self, key: Key) -> set[Key]:
        """Surplus rows that still use this one's name."""
        if key.task != Task.REMOVE.value:
            return set()
        found = set()
        for user in self._users.get(key.name, ()):
            for row in self._bench.tree.named(self._bench.stack_id, user):
                current = self._bench.current.get(user)
                if row.id != key.subject and key.name in row.requires and (current is None or current.id != row.id):
                    found.add(Key.remove(row.name, row.id))
        return found


def _users(rows: list[ResourceRow]) -> Mapping[str, list[ResourceRow]]:
    found: dict[str, list[ResourceRow]] = {}
    for row in rows:
        for name in row.requires:
            found.setdefault(name, []).append(row)
    return found
