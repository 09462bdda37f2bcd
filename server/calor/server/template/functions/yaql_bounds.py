"""yaql functions whose cost the library sees only when it has been paid: refused before (F168)."""

from collections.abc import Callable
from typing import Any

from yaql.language import specs
from yaql.language.exceptions import YaqlException
from yaql.standard_library import collections, math

MOST_ITEMS = 10_000
MOST_BITS = 80_000  # yaql's memory quota of 10,000 bytes


class TooLarge(YaqlException):  # type: ignore[misc]  # yaql ships no types
    def __init__(self, what: str) -> None:
        super().__init__(f"{what} would be too large")


def _list_times(left: Any, right: int, engine: Any) -> Any:
    if len(left) * right > MOST_ITEMS:
        raise TooLarge("the list")
    return collections.list_by_int(left, right, engine)


def _times_list(left: int, right: Any, engine: Any) -> Any:
    return _list_times(right, left, engine)


def _power(a: Any, b: Any, c: Any = None) -> Any:
    if c is None and isinstance(a, int) and isinstance(b, int) and a.bit_length() * b > MOST_BITS:
        raise TooLarge("the number")
    return math.pow_(a, b, c)


def _shift_left(value: int, bits_number: int) -> Any:
    if value.bit_length() + bits_number > MOST_BITS:
        raise TooLarge("the number")
    return math.shift_bits_left(value, bits_number)


_BOUNDED: tuple[tuple[Callable[..., Any], Callable[..., Any]], ...] = (
    (collections.list_by_int, _list_times),
    (collections.int_by_list, _times_list),
    (math.pow_, _power),
    (math.shift_bits_left, _shift_left),
)


def register(context: Any) -> None:
    """Put the bounded ones into a context whose parent has the library's own: the nearer one is called."""
    for theirs, ours in _BOUNDED:
        spec = specs.get_function_definition(theirs, convention=context.convention).clone()
        spec.payload = ours
        context.register_function(spec)
