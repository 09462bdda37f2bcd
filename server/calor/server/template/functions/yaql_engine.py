"""The yaql library with bounds on iterations, memory, steps and the time of a pattern. Slow to import."""

from functools import lru_cache
from typing import Any

import regex  # type: ignore[import-untyped,unused-ignore]  # it ships no types
import yaql
from yaql.language.contexts import Context
from yaql.language.exceptions import YaqlException

from calor.server.template.functions import yaql_bounds, yaql_patterns
from calor.server.template.functions.base import Refused

LIMIT_ITERATORS = 200
MEMORY_QUOTA = 10000
LIMIT_STEPS = 6_000  # calls of functions and operators, each some 75 µs; nested loops multiply
_FROM_FUNCTIONS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RuntimeError, StopIteration)
"""The library lets the errors of its built-in functions through as they are."""


class TooManySteps(YaqlException):  # type: ignore[misc]  # yaql ships no types
    def __init__(self) -> None:
        super().__init__(f"it takes more than {LIMIT_STEPS} steps")


class _Counted(Context):  # type: ignore[misc]  # yaql ships no types
    """A context that counts the calls made in it and in all its children."""

    def __init__(self, parent: Any) -> None:
        super().__init__(parent)
        self._steps: list[int] = parent._steps if isinstance(parent, _Counted) else [0]

    def collect_functions(self, name: str, predicate: Any = None, use_convention: bool = False) -> Any:
        self._steps[0] += 1
        if self._steps[0] > LIMIT_STEPS:
            raise TooManySteps
        return super().collect_functions(name, predicate, use_convention)


@lru_cache(maxsize=1)
def _engine() -> Any:
    options = {
        "yaql.limitIterators": LIMIT_ITERATORS,
        "yaql.memoryQuota": MEMORY_QUOTA,
        "yaql.convertTuplesToLists": True,
        "yaql.convertSetsToLists": True,
    }
    return yaql.YaqlFactory().create(options)


@lru_cache(maxsize=1)
def _root() -> Any:
    root = yaql.create_context(regex=False)
    yaql_patterns.register(root)
    bounded = root.create_child_context()
    yaql_bounds.register(bounded)
    return bounded


def fault(expression: str) -> str | None:
    """What keeps the text from being an expression."""
    try:
        _engine()(expression)
    except (YaqlException, ValueError, RecursionError) as error:
        return f"this is not a yaql expression: {error}"
    return None


def evaluate(expression: str, data: Any) -> Any:
    """The value of the expression, which sees ``data`` as ``$``. Raises `Refused`."""
    try:
        return _engine()(expression).evaluate(data=data, context=_Counted(_root()))
    except (YaqlException, regex.error) as error:
        raise Refused(f"the expression cannot be evaluated: {error}") from None
    except TimeoutError:
        message = f"a pattern takes longer than {yaql_patterns.SECONDS} s"
        raise Refused(f"the expression cannot be evaluated: {message}") from None
    except _FROM_FUNCTIONS as error:
        raise Refused(f"the expression cannot be evaluated: {error or type(error).__name__}") from None
