"""The yaql function. The library behind it is imported with the first expression: it costs a server's start."""

from collections.abc import Iterator, Mapping
from typing import Any

from calor.server.template.functions.base import Evaluation, Function, Refused, is_call
from calor.server.template.values import shape


class Yaql(Function):
    """``{expression: TEXT, data: …}``; the expression sees the data as ``$.data``."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
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
        from calor.server.template.functions import yaql_engine

        if not isinstance(args, Mapping) or not isinstance(args.get("expression"), str):
            raise Refused("takes a map with the keys 'expression' and 'data'.")
        return yaql_engine.evaluate(args["expression"], {"data": args.get("data", {})})


def _fault(expression: str) -> Iterator[str]:
    from calor.server.template.functions import yaql_engine

    if (fault := yaql_engine.fault(expression)) is not None:
        yield fault
