"""The engine's pure parts: order of work, names, reasons, batches, outcomes, pages."""

import asyncio
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calor.server.engine.durable import reasons
from calor.server.engine.durable.hub import Hub
from calor.server.engine.durable.leases import Process
from calor.server.engine.guests import outcomes
from calor.server.engine.reconcile import failing
from calor.server.engine.reconcile.bench import Batch
from calor.server.engine.reconcile.stopping import Stop, StopKind, Stopped, StopReason
from calor.server.engine.reconcile.walk import Key, Walk
from calor.server.engine.revision import naming
from calor.server.engine.revision.scope import follow
from calor.server.engine.services import legality


@given(st.lists(st.sets(st.integers(0, 30), max_size=4), min_size=1, max_size=30))
def test_a_walk_visits_each_key_once_after_what_it_requires(needs: list[set[int]]) -> None:
    keys = [Key.apply(str(n)) for n in range(len(needs))]
    graph = {keys[n]: {keys[m] for m in below if m < n} for n, below in enumerate(needs)}
    walk, done = Walk(), []
    walk.extend(graph)
    while ready := walk.take_ready():
        for key in ready:
            assert graph[key] <= set(done)
            done.append(key)
            walk.done(key)
    assert sorted(done) == sorted(keys)
    assert not walk.unfinished


def test_a_circle_of_old_rows_is_cut() -> None:
    walk = Walk()
    a, b = Key.remove("a", "1"), Key.remove("b", "2")
    walk.extend({a: {b}, b: {a}})
    assert walk.take_ready() == []
    assert walk.cut_knot()
    assert len(walk.take_ready()) == 2
    assert not walk.cut_knot()


@given(st.text(), st.integers(50, 300))
def test_reasons_are_bounded_and_can_be_stored(text: str, limit: int) -> None:
    cut = reasons.bounded(text * 20, limit)
    assert len(cut) <= limit
    cut.encode("utf-8")
    assert "\x00" not in cut


def test_reasons_name_the_class_first_and_the_path_down_to_the_deepest() -> None:
    leaf = reasons.placed("resources.web", "ResourceInError: Went to status ERROR")
    assert leaf == "ResourceInError: resources.web: Went to status ERROR"
    assert reasons.placed("resources.g", leaf) == "ResourceInError: resources.g.resources.web: Went to status ERROR"
    assert reasons.placed("resources.a", "CREATE aborted (timed out)") == "resources.a: CREATE aborted (timed out)"
    inner = reasons.placed("resources.b", "ResourceInError: it has: a colon")
    assert reasons.place_of(reasons.placed("resources.a", inner)) == "resources.a.resources.b"
    assert reasons.place_of(reasons.placed("resources.a", "CREATE aborted (timed out)")) == "resources.a"


@given(st.text(min_size=1, max_size=255), st.text(min_size=1, max_size=255), st.integers(40, 255))
def test_physical_names_fit_and_keep_their_suffix(stack: str, resource: str, limit: int) -> None:
    ident = str(uuid.uuid4())
    name = naming.physical_name(stack, resource, ident, limit)
    assert len(name) <= limit
    assert name.endswith("-" + naming.short_id(ident))
    assert name == naming.physical_name(stack, resource, ident, limit)


async def test_a_batch_lets_groups_in_one_after_the_other() -> None:
    batch, inside, most, order = Batch(2, 0.01), 0, 0, []

    async def member(name: int) -> None:
        nonlocal inside, most
        async with batch.turn(Stop()):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.01)
            inside -= 1
            order.append(name)

    await asyncio.gather(*(member(n) for n in range(7)))
    assert most == 2
    assert len(order) == 7


async def test_a_stop_ends_waits_and_gives_creations_a_grace() -> None:
    stop = Stop()
    told: list[StopReason] = []
    stop.tell(told.append)
    asyncio.get_running_loop().call_later(0.02, stop.ask, StopReason(StopKind.CANCEL, "why"))
    assert await stop.run(asyncio.sleep(0.05, "made"), grace=1) == "made"
    with pytest.raises(Stopped, match="why"):
        await stop.run(asyncio.sleep(5))
    assert [one.text for one in told] == ["why"]


async def test_a_wake_up_between_looking_and_waiting_is_not_lost() -> None:
    hub = Hub()
    with hub.listen("t") as listener:
        hub.wake("t")
        assert await listener.wait(1)
        assert not await listener.wait(0.01)
    assert hub._listeners == {}


def test_only_a_run_that_began_and_ended_with_zero_is_a_success() -> None:
    declared = [{"name": "o"}, {"name": "e", "error_output": True}]

    def status(**body: object) -> str:
        return outcomes.of_run({"outcome": "finished", **body}, declared).status

    assert status(outputs={"deploy_status_code": 0, "o": 1}) == "COMPLETE"
    assert status(outputs={"deploy_status_code": "0"}) == "COMPLETE"
    assert status(outputs={"deploy_status_code": 2}) == "FAILED"
    assert status(outputs={"deploy_status_code": 0, "e": ""}) == "FAILED"
    assert status(outputs={}) == "FAILED"
    assert status(outcome="interrupted", outputs={"deploy_status_code": 0}) == "FAILED"
    kept = outcomes.of_run({"outcome": "finished", "outputs": {"o": 1, "x": 2}}, declared).outputs
    assert set(kept) == {"o", "deploy_stdout", "deploy_stderr", "deploy_status_code"}


def test_paths_are_followed_through_maps_and_lists() -> None:
    value = {"a": [{"b": 1}, 2], "7": "seven"}
    assert follow(value, ["a", 0, "b"]) == 1
    assert follow(value, ["a", "1"]) == 2
    assert follow(value, [7]) == "seven"
    assert follow(value, ["a", 9, "b"]) is None


def test_a_process_knows_the_dead_of_its_own_machine_only() -> None:
    me = Process.current()
    assert not me.knows_dead(me.owner())
    gone = me.owner().split("|")
    gone[3] = "1"
    assert me.knows_dead("|".join(gone))
    gone[1] = "elsewhere"
    assert not me.knows_dead("|".join(gone))
    assert not me.knows_dead("")


def test_every_verb_of_the_legality_table_is_known() -> None:
    assert set(legality.VERBS) == {"suspend", "resume", "check", "cancel_update", "cancel_without_rollback"}


def test_what_is_known_of_the_guests_follows_as_a_sentence_of_its_own() -> None:
    assert (
        failing.followed("0 of 1 received", "The guest of srv is idle.") == "0 of 1 received. The guest of srv is idle."
    )
    assert failing.followed("It ended.", "The guest is idle.") == "It ended. The guest is idle."
    assert failing.followed("0 of 1 received", "") == "0 of 1 received"
