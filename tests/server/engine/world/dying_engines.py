"""Engines that die at a write, and those that take over from them."""

import asyncio
import dataclasses
import gc
from datetime import timedelta
from typing import Any

from calor.server import store


class Dying(store.Database):
    """A database whose process stops for ever at its n-th transaction: before it, or after its commit."""

    def __init__(self, inner: store.Database, left: int, after: bool) -> None:
        super().__init__(inner._engine)
        self.left = left
        self.after = after
        self.dead = asyncio.Event()

    async def transaction(self, work: Any) -> Any:
        self.left -= 1
        if self.left > 0:
            return await super().transaction(work)
        if self.left == 0 and self.after:
            await super().transaction(work)
        self.dead.set()
        await asyncio.Event().wait()


async def bury(engine: Any) -> None:
    """End the tasks of a dead engine, as the kernel does; nothing of it may write any more."""
    orchestrator = engine.orchestrator
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await engine.database.close()
    gc.collect()  # what a killed engine leaves open is noticed here, where it is no fault
    orchestrator._leases._process = dataclasses.replace(orchestrator._leases._process, started="dead")


async def survive(world: Any, ask: Any, deaths: list[tuple[int, bool]]) -> Any:
    """Ask once; let engine after engine die; answer the last one, which lives."""
    for number, (left, after) in enumerate(deaths):
        database = Dying(await store.open_database(world.url), left, after)
        engine = await world.engine(database)
        asked = asyncio.create_task(start(engine, ask if number == 0 else None))
        await asyncio.wait({asyncio.create_task(database.dead.wait()), asked}, return_when=asyncio.FIRST_COMPLETED)
        if not database.dead.is_set():
            await asyncio.wait({asyncio.create_task(database.dead.wait())}, timeout=0.7)
        await bury(engine)
        world.clock.shift += timedelta(seconds=10)
    engine = await world.engine()
    await engine.orchestrator.start()
    return engine


async def start(engine: Any, ask: Any) -> None:
    await engine.orchestrator.start()
    if ask is not None:
        await ask(engine)
