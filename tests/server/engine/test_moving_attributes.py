"""Attributes that move by themselves are read again once something else was done to their resource."""

import asyncio
from dataclasses import dataclass
from typing import Any, ClassVar

from calor.server.resources.base import Context, ResourceType
from calor.server.resources.declare import attributes
from calor.server.template.properties import AttributeSchema

SHELF: dict[str, list[str]] = {}


@dataclass(frozen=True, kw_only=True)
class Nothing:
    pass


@dataclass(frozen=True, kw_only=True)
class Onto:
    shelf: str


class Shelf(ResourceType[Nothing]):
    name, props = "Test::Shelf", Nothing
    attributes = attributes(books=AttributeSchema(cached=False), first=AttributeSchema())
    reads: ClassVar[list[str]] = []

    async def create(self, at: Context, want: Nothing) -> str:
        SHELF[at.me.id] = []
        return at.me.id

    async def attribute(self, at: Context, was: Nothing, name: str) -> Any:
        self.reads.append(name)
        return list(SHELF[at.me.id]) if name == "books" else next(iter(SHELF[at.me.id]), "none")


class Book(ResourceType[Onto]):
    name, props = "Test::Book", Onto

    async def create(self, at: Context, want: Onto) -> str:
        SHELF[want.shelf].append(at.me.name)
        return at.me.id


class Gate(ResourceType[Nothing]):
    name, props = "Test::Gate", Nothing
    opened: ClassVar[asyncio.Event] = asyncio.Event()

    async def settle(self, at: Context, want: Nothing) -> None:
        await self.opened.wait()

    async def create(self, at: Context, want: Nothing) -> str:
        return at.me.id


TEXT = """\
heat_template_version: 2021-04-16
resources:
  shelf: {type: "Test::Shelf"}
  book: {type: "Test::Book", properties: {shelf: {get_resource: shelf}}}
  after:
    type: OS::Heat::Value
    depends_on: book
    properties: {value: {books: {get_attr: [shelf, books]}, first: {get_attr: [shelf, first]}}}
outputs:
  after: {value: {get_attr: [after, value]}}
  books: {value: {get_attr: [shelf, books]}}
"""


async def test_who_comes_after_an_attachment_sees_it(world: Any) -> None:
    world.types += [Shelf, Book]
    engine = await world.engine()
    await engine.orchestrator.start()
    try:
        stack = await engine.create("shelves", TEXT)
        view = await engine.reached(stack, "CREATE_COMPLETE")
        await engine.update(stack, TEXT)
        await engine.reached(stack, "UPDATE_COMPLETE")
        events = await engine.events(stack)
    finally:
        await engine.orchestrator.stop()
        await engine.database.close()
    outputs = {output.name: output.value for output in view.outputs}
    assert outputs == {"after": {"books": ["book"], "first": "book"}, "books": ["book"]}
    assert not [event for event in events if event.startswith(("shelf UPDATE", "book UPDATE", "after UPDATE"))]


async def test_who_comes_after_an_attachment_and_a_crash_sees_it_too(world: Any) -> None:
    world.types += [Shelf, Book, Gate]
    text = TEXT.replace("depends_on: book", "depends_on: gate").replace(
        "  after:", '  gate: {type: "Test::Gate", depends_on: book}\n  after:', 1
    )
    engine = await world.engine()
    await engine.orchestrator.start()
    stack = await engine.create("shelves", text)

    async def at_the_gate() -> bool:
        return (await engine.resources(stack))["gate"].physical_id is not None

    await engine.until(at_the_gate)
    await engine.orchestrator.stop()
    await engine.database.close()
    Gate.opened.set()
    engine = await world.engine()
    await engine.orchestrator.start()
    try:
        view = await engine.reached(stack, "CREATE_COMPLETE")
    finally:
        await engine.orchestrator.stop()
        await engine.database.close()
    assert {one.name: one.value for one in view.outputs}["after"] == {"books": ["book"], "first": "book"}
