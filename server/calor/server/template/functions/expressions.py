"""The yaql function. Expressions run with yaql's own limits on iterations and memory."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import yaql  # type: ignore[import-untyped,unused-ignore]
from yaql.language.exceptions import YaqlException

from calor.server.template.functions.base import Evaluation, Function, Refused, is_call
from calor.server.template.values import shape

LIMIT_ITERATORS = 200
MEMORY_QUOTA = 10000
_FROM_FUNCTIONS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RuntimeError, StopIteration)
"""The library lets the errors of its built-in functions through as they are."""


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
    return yaql.create_context()


class Yaql(Function):
    """``{expression: TEXT, data: …}``; the expression sees the data as ``$.data``."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if is_call(self.args):
            return
        if not isinstance(self.args, Mapping):
            yield "takes a map with the keys 'expression' and 'data'."
            return
        for key in self.args:
            if key not in ("expression", "data"):
                yield f"{key!r} is neither 'expression' nor 'data'."
        expression = self.args.get("expression")
        if isinstance(expression, str):
            yield from _fault(expression)
        elif not is_call(expression):
            yield f"'expression' must be text, not {shape(expression)}."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if not isinstance(args, Mapping) or not isinstance(args.get("expression"), str):
            raise Refused("takes a map with the keys 'expression' and 'data'.")
        context = _root().create_child_context()
        try:
            return _engine()(args["expression"]).evaluate(data={"data": args.get("data", {})}, context=context)
        except YaqlException as error:
            raise Refused(f"the expression cannot be evaluated: {error}") from None
        except _FROM_FUNCTIONS as error:
            raise Refused(f"the expression cannot be evaluated: {error or type(error).__name__}") from None


def _fault(expression: str) -> Iterator[str]:
    try:
        _engine()(expression)
    except (YaqlException, ValueError, RecursionError) as error:
        yield f"this is not a yaql expression: {error}"
