"""Secrets are hidden in streams that come in pieces: pure."""

import json

import pytest

from calor.server.engine.guests.masking import MASK, Masker
from calor.server.template import Secret, secret_leaves

SECRET = "s3cret-w0rd"


@pytest.mark.parametrize("cut", range(30))
def test_a_secret_across_the_border_of_two_pieces_is_hidden(cut: int) -> None:
    data = f"before {SECRET} after ü {SECRET}".encode()
    masker, shown, at = Masker([SECRET, "s3"]), b"", 0
    for end, final in ((cut, False), (len(data), True)):
        part, length = masker.piece(data[at:end], final=final)
        shown, at = shown + part, at + length
    assert at == len(data)
    assert shown == f"before {MASK.decode()} after ü {MASK.decode()}".encode()


def test_half_a_character_and_what_may_begin_a_secret_wait_for_the_next_piece() -> None:
    masker = Masker([SECRET])
    assert masker.piece("aü".encode()[:-1], final=False) == (b"a", 1)
    assert masker.piece(b"a s3cre", final=False) == (b"a ", 2)
    assert masker.piece(b"\xff\xfe", final=True) == (b"\xff\xfe", 2)


def test_the_rest_of_a_secret_after_a_gap_is_hidden() -> None:
    assert Masker([SECRET]).piece(b"t-w0rd and more\n", final=True, after_gap=True) == (MASK + b" and more\n", 16)


def test_a_secret_is_hidden_in_the_forms_in_which_programs_print_it() -> None:
    key = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEAwJ\n-----END KEY-----\n"
    masker = Masker([key, 'say "so"'])
    for text in (key, json.dumps({"key": key}), "> MIIEowIBAAKCAQEAwJ <", json.dumps('say "so"')):
        assert "MIIE" not in masker.text(text)
        assert "so" not in masker.text(text)
    assert secret_leaves({"a": Secret({"b": ["deep", 12345]}), "c": "open", "d": Secret(None)}) == ["deep", "12345"]
