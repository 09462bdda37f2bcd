"""yaql's regular expressions, by a library that knows a time-out: a pattern may not hold the server up (F168).

The functions are yaql's own; only what they are done with is another: patterns are `TimedPattern`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import regex  # type: ignore[import-untyped,unused-ignore]  # it ships no types
from yaql.language import specs
from yaql.standard_library import regex as library

SECONDS = 0.25


class TimedPattern:
    """What yaql's functions need of a compiled pattern. Each may raise `TimeoutError`."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.compiled = regex.compile(pattern, flags)

    def search(self, text: str) -> Any:
        return self.compiled.search(text, timeout=SECONDS)

    def finditer(self, text: str) -> Iterator[Any]:
        return iter(self.compiled.finditer(text, timeout=SECONDS))

    def split(self, text: str, most: int = 0) -> list[str]:
        return list(self.compiled.split(text, most, timeout=SECONDS))

    def sub(self, value: Any, text: str, count: int = 0) -> str:
        return str(self.compiled.sub(value, text, count, timeout=SECONDS))


def _compile(pattern: str, ignore_case: bool = False, multi_line: bool = False, dot_all: bool = False) -> TimedPattern:
    flags = {regex.IGNORECASE: ignore_case, regex.MULTILINE: multi_line, regex.DOTALL: dot_all}
    return TimedPattern(pattern, sum(flag for flag, is_set in flags.items() if is_set))


def _matches(string: str, pattern: str) -> bool:
    return TimedPattern(pattern).search(string) is not None


def _matches_not(string: str, pattern: str) -> bool:
    return not _matches(string, pattern)


def _is_pattern(value: Any) -> bool:
    return isinstance(value, TimedPattern)


_OURS: Mapping[Callable[..., Any], Callable[..., Any]] = {
    library.regex: _compile,
    library.matches_: _matches,
    library.matches_operator_string: _matches,
    library.not_matches_operator_string: _matches_not,
    library.is_regex: _is_pattern,
}
_THEIRS = (
    library.matches,
    library.matches_operator_regex,
    library.not_matches_operator_regex,
    library.search,
    library.search_all,
    library.split,
    library.split_string,
    library.replace,
    library.replace_by,
    library.replace_string,
    library.replace_by_string,
    library.escape_regex,
)


def register(context: Any) -> None:
    """Add the functions to a yaql context that was made without yaql's own."""
    for function in (*_OURS, *_THEIRS):
        spec = specs.get_function_definition(function, convention=context.convention).clone()
        spec.payload = _OURS.get(function, spec.payload)
        for parameter in spec.parameters.values():
            if getattr(parameter.value_type, "python_type", None) is library.REGEX_TYPE:
                parameter.value_type.python_type = TimedPattern
        context.register_function(spec)
