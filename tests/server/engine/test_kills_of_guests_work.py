"""An engine that dies while guests are told things or tell it things: what is written out is what holds, what runs
print is kept once."""

import asyncio
import base64
import json
from collections import defaultdict
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

import pytest
from agent_hosts import Host, deployed, guest_of, polled, result_of
from dying_engines import Dying, bury, start, survive
from engine_world import USER, World
from playing_guests import mark_of, output, with_secret
from scripted_cloud import ScriptedCloud, ScriptedDoor

from calor.server import store
from calor.server.cloud.errors import CloudMissing
from calor.server.engine.contract.progress_views import RunState
from calor.server.engine.reconcile.operation import TIMED_OUT
from calor.server.store import guest_queries, queries

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TELLING = {"POLL_TEMP_URL": "objects", "ZAQAR_MESSAGE": "queues"}


class Keeping(ScriptedCloud):
    """A cloud with an object store and a messaging service, as far as metadata is written to them. ``written`` is
    called after each document that is."""

    def __init__(self) -> None:
        super().__init__()
        self.containers: dict[str, dict[str, bytes]] = {}
        self.queues: defaultdict[str, list[Any]] = defaultdict(list)
        self.written: Any = lambda document: None

    async def call(self, service: str, method: str, /, *args: Any, **kwargs: Any) -> Any:
        await self._enter(method, service, {})
        path = [unquote(part) for part in str(args[0] if args else "").strip("/").split("/")]
        if service == "object_store" and method != "get_info":
            return self._objects(method, path, kwargs)
        if service == "message" and path[0] == "queues":
            return self._messages(method, path, kwargs)
        return await super().call(service, method, *args, **kwargs)

    def _objects(self, method: str, path: list[str], more: dict[str, Any]) -> Any:
        container, name = path[0], "/".join(path[1:])
        if method == "put" and not name:
            self.containers.setdefault(container, {})
            return {}
        known = self.containers.get(container)
        if known is None or (name and method != "put" and name not in known):
            raise CloudMissing(f"There is no {'/'.join(path)}.")
        if method == "put":
            known[name] = more["data"]
            self.written(more["data"])
        if method == "delete":
            del (known if name else self.containers)[name or container]
        if method == "get" and not name:
            return [{"name": one} for one in known]
        return {}

    def _messages(self, method: str, path: list[str], more: dict[str, Any]) -> Any:
        if method == "delete" and len(path) == 2:
            self.queues.pop(path[1], None)
        elif method == "delete":
            self.queues[path[1]].clear()
        elif method == "post":
            self.queues[path[1]] += [one["body"] for one in more["json"]["messages"]]
            self.written(b"{}")
        elif method == "put":
            self.queues.setdefault(path[1], [])
        return {}

    def documents(self, where: str) -> list[dict[str, Any]]:
        if where == "queues":
            return [body for messages in self.queues.values() for body in messages]
        return [json.loads(data) for objects in self.containers.values() for data in objects.values()]


@pytest.fixture
def kept(world: World) -> Keeping:
    cloud = Keeping()
    world.cloud, world.door = cloud, ScriptedDoor(cloud)
    world.settings["lease_ttl"] = timedelta(seconds=5)
    return cloud


def telling(transport: str, word: str = "one") -> dict[str, Any]:
    deployment = {
        "config": {"get_resource": "config"},
        "server": {"get_resource": "machine"},
        "input_values": {"word": word},
    }
    resources = {
        "machine": {"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": transport}},
        "config": {"type": "OS::Heat::SoftwareConfig", "properties": {"group": "script", "config": "#!/bin/sh"}},
        "deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": deployment},
    }
    return {"heat_template_version": "2021-04-16", "resources": resources}


def words(documents: list[dict[str, Any]]) -> list[str]:
    """The input that each deployment is given, of all documents that lie there."""
    return [
        str(one["value"])
        for document in documents
        for deployment in document.get("deployments", ())
        for one in deployment["inputs"]
        if one["name"] == "word"
    ]


async def told(engine: Any, cloud: Keeping, where: str, wanted: str) -> None:
    """What lies there is what holds, once, and nothing is due any more."""

    async def settled() -> bool:
        return words(cloud.documents(where)) == [wanted] and not await guest_queries.due_pushes(engine.database)

    await engine.until(settled)


async def ended(engine: Any, cloud: Keeping, stack: Any, state: str) -> None:
    await engine.signal(stack, "deployment", deploy_status_code=0)
    await engine.reached(stack, state)
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")
    assert not cloud.containers and not cloud.queues, "nothing is left"
    await engine.orchestrator.stop()
    await engine.database.close()


@pytest.mark.slow
@pytest.mark.parametrize("transport", TELLING)
@pytest.mark.parametrize("left", range(3, 16))
async def test_metadata_reaches_a_guest_though_the_engine_dies_at_any_write(
    world: World, kept: Keeping, transport: str, left: int
) -> None:
    async def create(one: Any) -> None:
        await one.create("told", telling(transport))

    engine = await survive(world, create, [(left, left % 2 == 0)])
    if await queries.live_stack(engine.database, "p1", "told") is None:  # it died before the create was accepted
        assert not kept.documents(TELLING[transport])
        await engine.orchestrator.stop()
        await engine.database.close()
        return
    await told(engine, kept, TELLING[transport], "one")
    await ended(engine, kept, await engine.stacks.identify(USER, "told"), "CREATE_COMPLETE")


@pytest.mark.parametrize("transport", TELLING)
async def test_an_engine_that_dies_between_writing_metadata_and_its_row_writes_it_again(
    world: World, kept: Keeping, transport: str
) -> None:
    database = Dying(await store.open_database(world.url), 1 << 30, after=False)
    first = await world.engine(database)
    await first.orchestrator.start()
    stack = await first.create("told", telling(transport))
    await told(first, kept, TELLING[transport], "one")
    await first.signal(stack, "deployment", deploy_status_code=0)
    await first.reached(stack, "CREATE_COMPLETE")

    def dies(document: bytes) -> None:
        if words(kept.documents(TELLING[transport])) == ["two"]:
            database.left = 1  # at the next write: that of the row

    kept.written = dies
    await first.update(stack, telling(transport, "two"))
    await asyncio.wait_for(database.dead.wait(), 10)
    await bury(first)
    kept.written = lambda document: None
    world.clock.shift += timedelta(seconds=10)

    second = await world.engine()
    assert await guest_queries.due_pushes(second.database), "nobody knows that it was written"
    await second.orchestrator.start()
    await told(second, kept, TELLING[transport], "two")
    await ended(second, kept, stack, "UPDATE_COMPLETE")


@pytest.mark.parametrize(("left", "after"), [(left, after) for left in (1, 2, 3, 5) for after in (False, True)])
async def test_what_a_run_prints_is_kept_once_though_the_engine_dies_while_it_takes_it(
    world: World, left: int, after: bool
) -> None:
    """The guest sends from where it was last told to; what it never heard of it sends again. So with its result."""
    world.types.append(Host)
    world.settings["lease_ttl"] = timedelta(seconds=5)
    database = Dying(await store.open_database(world.url), 1 << 30, after=after)
    engine = await world.engine(database)
    await start(engine, None)
    stack = await engine.create("prints", with_secret(), parameters={"word": "s3cret-w0rd"})
    who, _ = await guest_of(engine, stack)
    found = await polled(engine, who)
    database.left = left

    whole, at = b"".join(b"line %d: s3cret-w0rd\n" % number for number in range(12)), 0

    async def to_the_end(one: Any) -> None:
        nonlocal at
        while at < len(whole):
            data = base64.b64encode(whole[at : at + 25]).decode()
            body = {"attempt": 1, "pieces": [{"stream": "stdout", "offset": at, "data": data}], **mark_of(found)}
            await one.orchestrator.guests.heartbeat(who, {"state": "running", "running": [mark_of(found)]})
            at = (await one.orchestrator.guests.output(who, {**body, "final": at + 25 >= len(whole)}))["stdout"]
        await one.orchestrator.guests.result(who, result_of(found, deploy_stdout="done"))

    sending = asyncio.create_task(to_the_end(engine))
    dead = asyncio.create_task(database.dead.wait())
    await asyncio.wait({sending, dead}, return_when=asyncio.FIRST_COMPLETED, timeout=20)
    assert database.dead.is_set() and not sending.done()
    await bury(engine)
    world.clock.shift += timedelta(seconds=10)

    engine = await world.engine()
    await engine.orchestrator.start()
    await to_the_end(engine)
    assert not await engine.orchestrator.guests.result(who, result_of(found, deploy_stdout="done")), "it is known"
    await engine.reached(stack, "CREATE_COMPLETE")
    page = await output(engine, stack)
    printed = b"".join(piece.data for piece in page.pieces)
    assert printed == b"".join(b"line %d: ******\n" % number for number in range(12))
    (run,) = (await engine.orchestrator.progress.show(USER, stack.name, stack.id)).runs
    assert (run.state, run.output_values["deploy_stdout"]) == (RunState.FINISHED, "done")
    await engine.orchestrator.stop()
    await engine.database.close()


@pytest.mark.parametrize(("left", "after"), [(left, after) for left in (1, 2, 3) for after in (False, True)])
async def test_a_deployment_whose_stack_timed_out_has_failed_though_the_engine_dies_while_it_says_so(
    world: World, left: int, after: bool
) -> None:
    """Its run is ended before its resource: who takes over finds the one, and comes to the other by it."""
    world.types.append(Host)
    world.settings["lease_ttl"] = timedelta(seconds=5)
    database = Dying(await store.open_database(world.url), 1 << 30, after=after)
    engine = await world.engine(database)
    await start(engine, None)
    stack = await engine.create("late", deployed(), timeout_mins=1)
    await guest_of(engine, stack)

    async def is_waited_for() -> bool:
        found = (await engine.resources(stack)).get("d0")
        return found is not None and found.physical_id is not None

    await engine.until(is_waited_for)
    database.left = left
    engine.orchestrator._trees.find(stack.id)._run.stop_all(TIMED_OUT)
    await asyncio.wait_for(database.dead.wait(), 20)
    await bury(engine)
    world.clock.shift += timedelta(seconds=120)

    second = await world.engine()
    await second.orchestrator.start()
    await second.reached(stack, "CREATE_FAILED")
    (run,) = await second.orchestrator.deployments.list(USER, server_id=None)
    assert (run.status, (await second.resources(stack))["d0"].status.value) == ("FAILED", "FAILED")
    await second.orchestrator.stop()
    await second.database.close()
