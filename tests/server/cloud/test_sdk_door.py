"""The door over real HTTP: what is retried and what never, how it waits, what it counts."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from calor.server.cloud.credentials import CredentialKind, Credentials
from calor.server.cloud.door import Cloud
from calor.server.cloud.errors import (
    CloudConflict,
    CloudError,
    CloudFailed,
    CloudMissing,
    CloudQuota,
    CloudRefused,
    CloudUncertain,
)
from calor.server.cloud.sdk import SdkDoor
from calor.server.resources.base import ResourceType
from calor.server.resources.collections import SERVERS
from calor.server.resources.memory import Workshop
from calor.server.resources.nova.server import Server

BUSY = {"overLimit": {"message": "too many requests", "code": 429}}
READY, FAILED = frozenset({"ACTIVE"}), frozenset({"ERROR"})


def first(times: int, answer: Any, verb: str = "") -> Callable[[Any, Any], Any]:
    """A plan: the first calls (of a verb) are answered so, later ones as usual."""
    left = [times]

    def plan(request: Any, fake: Any) -> Any:
        if left[0] and (not verb or request.method == verb):
            left[0] -= 1
            return answer
        return None

    return plan


async def test_what_is_created_is_found_changed_and_deleted(cloud: Cloud) -> None:
    made = await cloud.create(SERVERS, name="web")
    ident = str(made["id"])
    assert (await cloud.get(SERVERS, ident))["name"] == "web"
    found = await cloud.find(SERVERS, "web")
    assert found is not None and found["id"] == ident
    assert [await cloud.delete(SERVERS, ident) for _ in range(2)] == [True, False]
    with pytest.raises(CloudMissing):
        await cloud.get(SERVERS, ident)
    assert await cloud.find(SERVERS, "web") is None


@pytest.mark.slow
async def test_f147_a_service_that_says_429_is_waited_for_as_long_as_it_asks(cloud: Cloud, fake: Any) -> None:
    fake.plan = first(2, (429, BUSY, {"Retry-After": "1"}))
    began = time.monotonic()
    await cloud.create(SERVERS, name="web")
    assert time.monotonic() - began >= 2.0
    assert len(fake.servers) == 1


async def test_f147_calls_running_at_once_become_fewer_when_the_service_says_429(
    door: SdkDoor, cloud: Cloud, fake: Any
) -> None:
    fake.plan = first(1, (429, BUSY, {"Retry-After": "0"}))
    before = door._traffic.throttle("compute").limit
    await cloud.list(SERVERS)
    assert before // 2 <= door._traffic.throttle("compute").limit < before


@pytest.mark.slow
async def test_a_service_that_fails_is_asked_again_for_what_may_be_repeated(cloud: Cloud, fake: Any) -> None:
    for answer in ((503, {}, {}), (502, {}, {}), (500, {}, {}), "drop"):
        fake.plan = first(2, answer)
        assert await cloud.list(SERVERS) == []


@pytest.mark.slow
async def test_a_failure_that_stays_is_reported(cloud: Cloud, fake: Any) -> None:
    fake.plan = first(99, (500, {"computeFault": {"message": "Unexpected API Error."}}, {}))
    with pytest.raises(CloudError, match="Unexpected API Error"):
        await cloud.list(SERVERS)


@pytest.mark.parametrize("answer", ["lose", (500, {}, {}), (502, {}, {}), (503, {}, {})])
async def test_a_creation_whose_effect_is_unknown_is_not_repeated(cloud: Cloud, fake: Any, answer: Any) -> None:
    fake.plan = first(1, answer)
    with pytest.raises(CloudUncertain):
        await cloud.create(SERVERS, name="web")
    assert fake.calls["POST servers"] == 1


async def test_f150_a_server_whose_answer_was_lost_is_found_and_not_made_twice(cloud: Cloud, fake: Any) -> None:
    kind: ResourceType[Any] = Server()
    context = Workshop(cloud).bench(kind, "web")
    properties = {"flavor": "f", "image": "00000000-0000-0000-0000-00000000000a", "user_data_format": "RAW"}
    fake.plan = first(1, "lose", verb="POST")
    with pytest.raises(CloudUncertain):
        await context.make(**properties)
    context.crashed()
    (ident,) = fake.servers
    assert await kind.find_twin(context, context.typed(properties)) == ident


async def test_what_was_refused_is_told_at_once(cloud: Cloud, fake: Any) -> None:
    quota = {"forbidden": {"message": "Quota exceeded for cores"}}
    for answer, kind in (
        ((403, quota, {}), CloudQuota),
        ((409, {"conflictingRequest": {"message": "task_state deleting"}}, {}), CloudConflict),
        ((400, {"badRequest": {"message": "Invalid flavor"}}, {}), CloudRefused),
        ((413, {"overLimit": {"message": "Quota exceeded"}}, {"Retry-After": "0"}), CloudQuota),
    ):
        fake.calls.clear()
        fake.plan = first(1, answer)
        with pytest.raises(kind):
            await cloud.create(SERVERS, name="web")
        assert fake.calls["POST servers"] == 1


async def test_f148_five_hundred_calls_take_one_login(cloud: Cloud, fake: Any) -> None:
    await asyncio.gather(*(cloud.get(SERVERS, str(fake.make(None)["id"])) for _ in range(500)))
    assert fake.calls["token"] == 1


@pytest.mark.slow
async def test_a_hundred_who_wait_share_the_listings(door: SdkDoor, cloud: Cloud, fake: Any) -> None:
    idents = [str(fake.make({"server": {"status": "BUILD"}})["id"]) for _ in range(100)]
    waiting = [asyncio.ensure_future(cloud.settled(SERVERS, one, ready=READY, failed=FAILED)) for one in idents]
    await asyncio.sleep(1.0)
    for server in fake.servers.values():
        server["status"] = "ACTIVE"
    records = await asyncio.gather(*waiting)
    assert {record["id"] for record in records} == set(idents)
    assert fake.calls["GET servers/detail"] <= 8 and not any("GET servers/0" in call for call in fake.calls)
    listed = fake.calls["GET servers/detail"]
    await asyncio.sleep(1.0)
    assert fake.calls["GET servers/detail"] <= listed + 1, "nobody waits, so nobody asks"
    assert door.calls["compute"] == fake.calls["GET servers/detail"]


async def test_one_who_waits_learns_of_a_failure_in_the_services_words(cloud: Cloud, fake: Any) -> None:
    fault = {"message": "No valid host was found. ", "code": 500}
    ident = str(fake.make({"server": {"status": "ERROR", "fault": fault}})["id"])
    with pytest.raises(CloudFailed, match='ERROR due to "Message: No valid host was found'):
        await cloud.settled(SERVERS, ident, ready=READY, failed=FAILED)


@pytest.mark.slow
async def test_one_who_waits_outlasts_a_service_that_is_down_for_a_while(cloud: Cloud, fake: Any) -> None:
    ident = str(fake.make(None)["id"])
    fake.plan = first(6, (500, {}, {}))
    record = await cloud.settled(SERVERS, ident, ready=READY, failed=FAILED)
    assert record["id"] == ident and fake.calls["GET servers/detail"] > 6


async def test_one_who_waits_for_what_vanishes_is_told(cloud: Cloud) -> None:
    with pytest.raises(CloudMissing):
        await cloud.settled(SERVERS, "00000000-0000-0000-0000-00000000000f", ready=READY, failed=FAILED)


async def test_the_end_of_an_object_is_waited_for(cloud: Cloud, fake: Any) -> None:
    ident = str(fake.make(None)["id"])
    waiting = asyncio.ensure_future(cloud.gone(SERVERS, ident))
    await asyncio.sleep(0.3)
    assert not waiting.done()
    await cloud.delete(SERVERS, ident)
    await asyncio.wait_for(waiting, 5)


async def test_f049_the_endpoint_is_that_of_the_region_asked_for(door: SdkDoor, fake: Any) -> None:
    def opened(region: str | None) -> Cloud:
        return door.open(Credentials(kind=CredentialKind.TRUST, project_id="p", user_id="u", ident="t", region=region))

    assert await opened("R2").endpoint("compute") == "http://r2.example/v2.1"
    assert await opened(None).endpoint("compute") == f"{fake.url}/v2.1"
    assert await opened(None).endpoint("compute", region="R2") == "http://r2.example/v2.1"
    with pytest.raises(CloudMissing, match="R9"):
        await opened(None).endpoint("compute", region="R9")


async def test_a_token_is_used_as_it_is(door: SdkDoor, fake: Any) -> None:
    given = Credentials(kind=CredentialKind.TOKEN, project_id="p", user_id="u", secret="given")
    assert await door.open(given).list(SERVERS) == []
    assert fake.calls["token"] == 1
