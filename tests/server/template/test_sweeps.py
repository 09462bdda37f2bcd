"""The search for cyclic garbage is put off while large things are built, and only then."""

import gc
import threading

import pytest

from calor.server.errors import InvalidInput
from calor.server.template import parse_template
from calor.server.template.sweeps import unswept


def test_the_search_is_off_in_the_block_and_on_after_it() -> None:
    with unswept():
        assert not gc.isenabled()
        with unswept():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_is_on_again_after_a_refusal() -> None:
    with pytest.raises(InvalidInput):
        parse_template("heat_template_version: 1999-01-01")
    assert gc.isenabled()


def test_it_stays_off_until_the_last_thread_is_done() -> None:
    inside, leave = threading.Event(), threading.Event()

    def build() -> None:
        with unswept():
            inside.set()
            leave.wait(30)

    other = threading.Thread(target=build)
    other.start()
    assert inside.wait(30)
    with unswept():
        pass
    assert not gc.isenabled()
    leave.set()
    other.join(30)
    assert gc.isenabled()


def test_who_had_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with unswept():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
