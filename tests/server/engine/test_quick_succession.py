"""Requests that come in the very moment in which an operation ends are taken: no lost lease reaches a user."""

import asyncio
from typing import Any

import pytest

EMPTY = {"heat_template_version": "2021-04-16", "resources": {"a": {"type": "OS::Heat::RandomString"}}}


@pytest.mark.parametrize("turns", range(0, 40, 2))
async def test_a_delete_right_after_a_create_is_taken(engine: Any, turns: int) -> None:
    stack = await engine.create("quick", EMPTY)
    for _ in range(turns):
        await asyncio.sleep(0)
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")


async def test_updates_and_a_delete_at_every_moment_of_an_ending(engine: Any) -> None:
    for turn in range(25):
        stack = await engine.create(f"s{turn}", EMPTY)
        await asyncio.sleep(turn * 0.002)
        await engine.update(stack, EMPTY)
        await asyncio.sleep(turn * 0.001)
        await engine.delete(stack)
        await engine.reached(stack, "DELETE_COMPLETE")


async def test_a_request_that_meets_a_recovery_is_taken(engine: Any) -> None:
    trees = engine.orchestrator._trees
    for turn in range(15):
        stack = await engine.create(f"r{turn}", EMPTY)
        recoveries = [asyncio.create_task(trees.recover()) for _ in range(3)]
        await asyncio.sleep(turn * 0.002)
        recoveries.append(asyncio.create_task(trees.recover()))
        await engine.delete(stack)
        await asyncio.gather(*recoveries)
        await engine.reached(stack, "DELETE_COMPLETE")
