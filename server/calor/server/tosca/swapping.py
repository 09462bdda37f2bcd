"""Parts of the libraries that are others for a while."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def swapped(*parts: tuple[Any, str, Any]) -> Iterator[None]:
    """``parts`` are owner, name and the value that the owner has there while this lasts."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in parts]
    for owner, name, value in parts:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
