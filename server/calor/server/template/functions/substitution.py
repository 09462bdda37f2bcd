"""``Fn::Sub``: a text with the names of parameters and resources in it, as CloudFormation has it and Heat has not."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from calor.server.template.functions.base import Evaluation, Function, Refused, Site, is_call
from calor.server.template.functions.bounds import check_length
from calor.server.template.functions.cfn import GetAtt, Ref
from calor.server.template.source import Path
from calor.server.template.values import Plain, shape

_VARIABLE = re.compile(r"\$\{(!?)([^${}]*)\}")


class Sub(Function):
    """``TEXT`` or ``[TEXT, {NAME: value}]``: ``${NAME}`` is a value of the map, a parameter or a resource's reference,
    ``${NAME.ATTRIBUTE}`` an attribute, ``${!NAME}`` stays as ``${NAME}``. ``args`` become the pieces to join."""

    __slots__ = ("faults",)
    embeds = True

    def __init__(self, name: str, args: Any, site: Site, path: Path) -> None:
        self.faults: list[str] = []
        text, values = args if isinstance(args, list) and len(args) == 2 else (args, {})
        text = text.text if isinstance(text, Plain) else text
        if not isinstance(text, str) or not isinstance(values, Mapping) or is_call(values):
            self.faults.append("takes a text, or a list of a text and a map of values.")
            text, values = "", {}
        super().__init__(name, list(self._pieces(text, values, site, path)), site, path)

    def _pieces(self, text: str, values: Mapping[Any, Any], site: Site, path: Path) -> Iterator[Any]:
        end = 0
        for found in _VARIABLE.finditer(text):
            yield text[end : found.start()]
            end = found.end()
            is_literal, name = found.group(1), found.group(2).strip()
            if is_literal:
                yield f"${{{name}}}"
            elif name in values:
                yield values[name]
            else:
                yield self._looked_up(name, site, path)
        yield text[end:]

    def _looked_up(self, name: str, site: Site, path: Path) -> Function:
        resource, dot, attribute = name.partition(".")
        call: Function = (
            GetAtt("Fn::GetAtt", [resource, attribute], site, path) if dot else Ref("Ref", name, site, path)
        )
        self.faults.extend(call.check())
        return call

    def check(self) -> Iterator[str]:
        yield from self.faults

    def waiting(self, args: Any, at: Evaluation) -> Function:
        call = Sub(self.name, "", self.site, self.path)
        call.args, call.home = args, at
        return call

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        pieces = [_text(piece) for piece in args]
        check_length(sum(map(len, pieces)))
        return "".join(pieces)


def _text(piece: Any) -> str:
    if isinstance(piece, bool):
        return str(piece).lower()
    if piece is None:
        return ""
    if isinstance(piece, str | int | float):
        return str(piece)
    raise Refused(f"a value to put in must be text, a number or a boolean, not {shape(piece)}.")
