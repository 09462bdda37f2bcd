"""Tokens are asked about once, remembered shortly, and never past their end."""

import asyncio

import pytest

from calor.server.auth.token_cache import TokenCache, Validated
from calor.server.errors import ServiceUnavailable, Unauthorized
from calor.server.identity import Caller

CALLER = Caller(user_id="u", project_id="p", roles=frozenset())


class Keystone:
    """Knows some tokens, can be slow or away, and counts."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.asked = 0
        self.known = {"good": 2000.0}
        self.away = False
        self.cache = TokenCache(self.ask, seconds=60, clock=lambda: self.now, capacity=3)

    async def ask(self, token: str) -> Validated | None:
        self.asked += 1
        await asyncio.sleep(0)
        if self.away:
            raise ServiceUnavailable("away")
        until = self.known.get(token)
        return None if until is None else Validated(caller=CALLER, expires_at=until)


async def test_a_token_is_asked_about_once_a_minute() -> None:
    keystone = Keystone()
    for _ in range(3):
        assert await keystone.cache.caller_of("good") is CALLER
    assert keystone.asked == 1
    keystone.now += 61
    await keystone.cache.caller_of("good")
    assert keystone.asked == 2


async def test_a_revoked_token_ends_with_the_cache_time() -> None:
    keystone = Keystone()
    await keystone.cache.caller_of("good")
    del keystone.known["good"]
    keystone.now += 61
    with pytest.raises(Unauthorized):
        await keystone.cache.caller_of("good")


async def test_a_token_is_never_good_past_its_expiry() -> None:
    keystone = Keystone()
    keystone.known["good"] = keystone.now + 5
    await keystone.cache.caller_of("good")
    keystone.now += 6
    with pytest.raises(Unauthorized):
        await keystone.cache.caller_of("good")


async def test_those_who_come_together_ask_once() -> None:
    keystone = Keystone()
    assert set(await asyncio.gather(*(keystone.cache.caller_of("good") for _ in range(50)))) == {CALLER}
    assert keystone.asked == 1


async def test_a_refused_token_is_remembered_for_a_moment() -> None:
    keystone = Keystone()
    for _ in range(3):
        with pytest.raises(Unauthorized):
            await keystone.cache.caller_of("bad")
    assert keystone.asked == 1


async def test_a_keystone_that_is_away_is_not_remembered() -> None:
    keystone = Keystone()
    keystone.away = True
    with pytest.raises(ServiceUnavailable):
        await keystone.cache.caller_of("good")
    keystone.away = False
    assert await keystone.cache.caller_of("good") is CALLER


async def test_a_caller_who_goes_away_leaves_the_others_their_answer() -> None:
    keystone = Keystone()
    first = asyncio.create_task(keystone.cache.caller_of("good"))
    second = asyncio.create_task(keystone.cache.caller_of("good"))
    await asyncio.sleep(0)
    first.cancel()
    assert await second is CALLER


async def test_the_cache_is_bounded() -> None:
    keystone = Keystone()
    for number in range(20):
        with pytest.raises(Unauthorized):
            await keystone.cache.caller_of(f"bad{number}")
    with pytest.raises(Unauthorized):
        await keystone.cache.caller_of("bad0")
    assert keystone.asked == 21
    await keystone.cache.close()
