"""Options declared once, as fields of frozen dataclasses, and read through oslo.config.

@dataclass(frozen=True, kw_only=True)
class Listener:
    bind_port: int = option(8004, "The TCP port of the listener.", minimum=0, maximum=65535)
"""

import dataclasses
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from oslo_config import cfg

S = TypeVar("S")


def option(
    default: Any,
    help_text: str,
    *,
    secret: bool = False,
    choices: Iterable[str] = (),
    minimum: float | None = None,
    maximum: float | None = None,
    former: Iterable[str] = (),
    idle: str = "",
) -> Any:
    """A dataclass field that is an option. ``former`` are names it is also known by (Heat's, or older ones). ``idle``:
    it is known because operators have it in their files, and has no effect; the sentence says what holds instead."""
    facts = {
        "help": f"{help_text} Has no effect: {idle}" if idle else help_text,
        "idle": idle,
        "secret": secret,
        "choices": tuple(choices),
        "minimum": minimum,
        "maximum": maximum,
        "former": tuple(former),
    }
    return dataclasses.field(default=default, metadata=facts)


def options_of(section: type[Any], group: str) -> list[Any]:
    """The oslo.config options that a section's fields declare."""
    hints = typing.get_type_hints(section)
    return [_option(field, hints[field.name], group) for field in dataclasses.fields(section)]


def read(section: type[S], values: Mapping[str, Any]) -> S:
    """A section with the values oslo.config has for it."""
    return section(**{field.name: _value(values[field.name]) for field in dataclasses.fields(section)})  # type: ignore[arg-type]  # every section is a dataclass


def idle_sentences(section: Any, group: str) -> Iterator[str]:
    """A sentence for each option of a section that is set to something and has no effect."""
    for field in dataclasses.fields(section):
        if field.metadata["idle"] and getattr(section, field.name) != field.default:
            yield f"[{group}] {field.name} has no effect: {field.metadata['idle']}"


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _option(field: "dataclasses.Field[Any]", hint: Any, group: str) -> Any:
    facts = field.metadata
    common: dict[str, Any] = {
        "default": list(field.default) if isinstance(field.default, tuple) else field.default,
        "help": facts["help"],
        "secret": facts["secret"],
        "deprecated_opts": [cfg.DeprecatedOpt(name, group=group) for name in facts["former"]],
    }
    kind = _plain_type(hint)
    bounds = {key: facts[name] for key, name in (("min", "minimum"), ("max", "maximum")) if facts[name] is not None}
    if kind is bool:
        return cfg.BoolOpt(field.name, **common)
    if kind is int:
        return cfg.IntOpt(field.name, **bounds, **common)
    if kind is float:
        return cfg.FloatOpt(field.name, **bounds, **common)
    if kind is tuple:
        return cfg.ListOpt(field.name, **common)
    return cfg.StrOpt(field.name, choices=list(facts["choices"]) or None, **common)


def _plain_type(hint: Any) -> Any:
    if isinstance(hint, types.UnionType):  # ``str | None``
        return next(part for part in typing.get_args(hint) if part is not types.NoneType)
    return typing.get_origin(hint) or hint
