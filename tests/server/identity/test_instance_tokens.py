"""Bearer and bootstrap tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calor.server.errors import Unauthorized
from calor.server.identity import BearerTokens, BootstrapTokens, InstanceClaims, Keys

KEYS = Keys.generate()
TOKENS = BearerTokens.of(KEYS)
CLAIMS = InstanceClaims(resource_id="r", stack_id="s", project_id="p", expires_at=1000)


def test_a_token_says_whose_it_is_until_it_expires() -> None:
    token = TOKENS.mint(CLAIMS)
    assert TOKENS.read(token, now=999.9) == CLAIMS
    with pytest.raises(Unauthorized):
        TOKENS.read(token, now=1000)


def test_a_token_of_another_server_or_purpose_is_refused() -> None:
    with pytest.raises(Unauthorized):
        TOKENS.read(BearerTokens.of(Keys.generate()).mint(CLAIMS), now=0)
    with pytest.raises(Unauthorized):
        TOKENS.read(BearerTokens(KEYS.derived("other")).mint(CLAIMS), now=0)


@given(st.text() | st.text("calor1.-_AZ09=").map(lambda text: f"calor1.{text}"))
def test_whatever_else_is_sent_is_refused(text: str) -> None:
    with pytest.raises(Unauthorized):
        TOKENS.read(text, now=0)


@given(st.integers(0, 200), st.characters(codec="ascii", categories=("L", "N")))
def test_no_character_of_a_token_can_be_changed(place: int, to: str) -> None:
    token = TOKENS.mint(CLAIMS)
    place %= len(token)
    changed = token[:place] + to + token[place + 1 :]
    if changed != token:
        with pytest.raises(Unauthorized):
            TOKENS.read(changed, now=0)


def test_a_bootstrap_token_is_stable_until_it_is_armed_again() -> None:
    tokens = BootstrapTokens.of(KEYS)
    first = tokens.mint("server")
    assert first == tokens.mint("server")
    assert tokens.is_valid(first, "server")
    assert not tokens.is_valid(first, "other")
    assert not tokens.is_valid(first, "server", 1)
    assert tokens.is_valid(tokens.mint("server", 1), "server", 1)
    assert not tokens.is_valid("é", "server")
