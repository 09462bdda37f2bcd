"""Lists of stacks: filters, order, pages and counts."""

import asyncio
from typing import Any

import pytest
from engine_world import USER

from calor.server.engine.contract.views import StackQuery

TEMPLATE = {"heat_template_version": "2021-04-16", "resources": {"word": {"type": "OS::Heat::RandomString"}}}
INNER = '{"heat_template_version": "2021-04-16"}'
BROKEN = {
    "heat_template_version": "2021-04-16",
    "resources": {"bad": {"type": "OS::Heat::TestResource", "properties": {"value": "x", "fail": True}}},
}


@pytest.fixture
async def listed(engine: Any) -> Any:
    """``listed(…)``: the names that a query finds, and how many there are without its limit."""
    for name, tags in (("alpha", ["a"]), ("beta", ["a", "b"]), ("gamma", [])):
        stack = await engine.create(name, TEMPLATE, tags=tags)
        await engine.reached(stack, "CREATE_COMPLETE")
        await asyncio.sleep(0.002)
    nested = {"heat_template_version": "2021-04-16", "resources": {"inner": {"type": "inner.yaml"}}}
    parent = await engine.create("delta", nested, files={"inner.yaml": INNER})
    await engine.reached(parent, "CREATE_COMPLETE")
    broken = await engine.create("epsilon", BROKEN)
    await engine.reached(broken, "CREATE_FAILED")
    idents = {view.identity.name: view.identity.id for view in (await engine.stacks.list(USER, StackQuery()))[0]}

    async def ask(**query: Any) -> tuple[list[str], int]:
        filters = {
            name: [idents[one] if one in idents and "id" in name else one for one in values]
            for name, values in query.pop("by", {}).items()
        }
        if "marker" in query:
            query["marker"] = idents[query["marker"]]
        views, count = await engine.stacks.list(USER, StackQuery(filters=filters, **query))
        return [view.identity.name for view in views], count

    return ask


async def test_filters_are_by_columns_and_a_status_may_have_its_action(listed: Any) -> None:
    assert await listed() == (["epsilon", "delta", "gamma", "beta", "alpha"], 5)
    assert await listed(by={"name": ["alpha", "gamma", "other"]}) == (["gamma", "alpha"], 2)
    assert await listed(by={"stack_name": ["Alpha"]}) == ([], 0)
    assert await listed(by={"id": ["epsilon"]}) == (["epsilon"], 1)
    assert await listed(by={"status": ["FAILED"]}) == (["epsilon"], 1)
    assert await listed(by={"stack_status": ["CREATE_FAILED", "DELETE_FAILED"]}) == (["epsilon"], 1)
    assert (await listed(by={"status": ["COMPLETE"], "action": ["CREATE"]}))[1] == 4
    assert await listed(by={"status": ["NOSUCH"]}) == ([], 0)
    assert await listed(by={"action": ["UPDATE"]}) == ([], 0)
    assert (await listed(by={"username": ["user1"], "tenant": ["p1"]}))[1] == 5
    assert await listed(by={"username": ["user2"]}) == ([], 0)
    assert (await listed(by={"nosuch": ["x"]}))[1] == 5, "what is no filter means nothing"


async def test_nested_stacks_are_found_by_their_owner(listed: Any) -> None:
    ((name,), count) = await listed(by={"owner_id": ["delta"]}, show_nested=True)
    assert (name.startswith("delta-inner-"), count) == (True, 1)
    assert (await listed(by={"owner_id": [""]}, show_nested=True))[1] == 5


async def test_pages_are_of_what_passes_in_the_order_asked_for(listed: Any) -> None:
    assert await listed(limit=2) == (["epsilon", "delta"], 5)
    assert await listed(limit=2, marker="delta") == (["gamma", "beta"], 5)
    assert await listed(limit=2, sort_keys=["name"]) == (["alpha", "beta"], 5)
    assert await listed(limit=1, sort_keys=["status", "name"], sort_dir="desc") == (["epsilon"], 5)
    assert await listed(limit=1, tags=["a"]) == (["beta"], 2)
    assert await listed(limit=1, by={"status": ["COMPLETE"]}, not_tags_any=["a"]) == (["delta"], 2)
