"""Instant resources are worked on in groups: one commit for many, and nobody pays for another's fault."""

from typing import Any

from calor.server.engine.contract.views import Status
from calor.server.resources.heat.value import Value, ValueProps
from calor.server.store import queries

HOT = "2021-04-16"


class Unstorable(Value):
    """Its physical id is nothing that a database takes, where its value says so."""

    name = "Test::Unstorable"

    async def create(self, at: Any, want: ValueProps) -> Any:
        return object() if want.value == "bad" else at.me.physical_name


def value(of: Any, **more: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::Value", "properties": {"value": of, **more}}


def template(**resources: Any) -> dict[str, Any]:
    return {"heat_template_version": HOT, "resources": resources}


def chain(size: int, first: str) -> dict[str, Any]:
    links = {f"r{n}": value({"get_attr": [f"r{n - 1}", "value"]}) for n in range(1, size)}
    last = {"last": {"value": {"get_attr": [f"r{size - 1}", "value"]}}}
    return template(r0=value(first), **links) | {"outputs": last}


async def _flushes(engine: Any, work: Any) -> int:
    before = engine.orchestrator._tools.journal.flushes
    await work
    return engine.orchestrator._tools.journal.flushes - before


async def test_a_chain_of_values_is_made_and_changed_and_deleted_in_a_few_commits(engine: Any) -> None:
    async def create() -> None:
        nonlocal stack
        stack = await engine.create("chain", chain(100, "one"))
        await engine.reached(stack, "CREATE_COMPLETE")

    async def update() -> None:
        await engine.update(stack, chain(100, "two"))
        await engine.reached(stack, "UPDATE_COMPLETE")

    async def delete() -> None:
        await engine.delete(stack)
        await engine.reached(stack, "DELETE_COMPLETE")

    stack: Any = None
    assert await _flushes(engine, create()) <= 6
    assert await _flushes(engine, update()) <= 6
    assert await _output(engine, stack) == ["two"]
    assert await _flushes(engine, delete()) <= 6


async def test_one_that_fails_leaves_the_others_of_its_group_complete_and_its_dependents_out(engine: Any) -> None:
    stack = await engine.create(
        "mixed",
        template(
            good=value("x"),
            bad=value("no number", type="number"),
            after_good=value({"get_attr": ["good", "value"]}),
            after_bad=value({"get_attr": ["bad", "value"]}),
        ),
        disable_rollback=True,
    )
    view = await engine.reached(stack, "CREATE_FAILED")
    assert "resources.bad" in view.status_reason
    states = {name: one.status for name, one in (await engine.resources(stack)).items()}
    assert states["good"] is Status.COMPLETE
    assert states["bad"] is Status.FAILED
    assert "after_bad" not in await _stored(engine, stack)
    await engine.update(stack, template(good=value("x"), bad=value("7", type="number")))
    await engine.reached(stack, "UPDATE_COMPLETE")


async def test_what_the_database_refuses_fails_alone_and_not_its_group(world: Any) -> None:
    world.types.append(Unstorable)
    engine = await world.engine()
    await engine.orchestrator.start()
    try:
        resources: dict[str, Any] = {f"r{n}": value(n) for n in range(20)}
        resources["bad"] = {"type": "Test::Unstorable", "properties": {"value": "bad"}}
        stack = await engine.create("refused", template(**resources), disable_rollback=True)
        await engine.reached(stack, "CREATE_FAILED")
        rows = await engine.resources(stack)
        assert rows["bad"].status is Status.FAILED
        assert {rows[f"r{n}"].status for n in range(20)} == {Status.COMPLETE}
        resources["bad"]["properties"]["value"] = "good"
        await engine.update(stack, template(**resources))
        await engine.reached(stack, "UPDATE_COMPLETE")
        await engine.delete(stack)
        await engine.reached(stack, "DELETE_COMPLETE")
    finally:
        await engine.orchestrator.stop()
        await engine.database.close()


async def _output(engine: Any, stack: Any) -> list[Any]:
    return [one.value for one in (await engine.show(stack)).outputs]


async def _stored(engine: Any, stack: Any) -> set[str]:
    return {row.name for row in await queries.stack_resources(engine.database, stack.id)}


async def test_only_a_stack_that_may_ask_a_cloud_gets_a_trust(engine: Any, world: Any) -> None:
    stack = await engine.create("alone", template(r=value("x")))
    await engine.reached(stack, "CREATE_COMPLETE")
    assert {one.kind.value for one in world.door.opened} == {"token"}
    await engine.update(stack, template(r=value("x"), net={"type": "OS::Neutron::Net"}))
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert world.door.opened[-1].kind.value == "trust"
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")
    assert [one.ident for one in world.door.revoked] == ["trust-1"]
