"""Property values → what a resource sees: defaults, conversion by type, constraints."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from calor.server.errors import Problem
from calor.server.template import constraints
from calor.server.template.functions.text import as_json
from calor.server.template.model import Pending
from calor.server.template.nearest import did_you_mean, meant
from calor.server.template.properties import Constraint, Custom, Kind, PropertySchema
from calor.server.template.source import Path, Source
from calor.server.template.values import UNKNOWN, Plain, Secret, plain, reveal, shape

Hint = Callable[[object], str]


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """``values`` has every key of the schema (None where unset); UNKNOWN passes every check; a `Secret` stays one."""

    values: Mapping[str, Any]
    problems: tuple[Problem, ...] = ()
    pending: tuple[Pending, ...] = ()


def convert(
    schemas: Mapping[str, PropertySchema],
    values: Mapping[str, Any],
    *,
    path: Path = (),
    source: Source | None = None,
    hint: Hint | None = None,
) -> Conversion:
    """Convert resolved property values by their schemas. Collects all problems; raises nothing. ``hint`` says what the
    key of a map that does not fit may have been meant as."""
    work = _Work(source or Source(), hint)
    found = work.map_of(schemas, values, path)
    return Conversion(values=found, problems=tuple(work.problems), pending=tuple(work.pending))


class _Bad(Exception):
    """The value does not fit; the caller adds where."""


@dataclass
class _Work:
    source: Source
    hint: Hint | None = None
    problems: list[Problem] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)

    def fault(self, message: str, path: Path, *, value: bool = True, code: str = "property-value") -> None:
        self.problems.append(self.source.problem(message, path, value=value, code=code))

    def map_of(self, schemas: Mapping[str, PropertySchema], values: Any, path: Path) -> dict[str, Any]:
        """The keys of a map by their schemas; unknown keys are faults."""
        if not isinstance(values, Mapping):
            if values != []:
                self.fault(f"A map is wanted, not {shape(plain(values))}.", path)
            values = {}
        misspelt = set[str]()
        for key in values:
            if key not in schemas:
                near = did_you_mean(str(key), schemas)
                misspelt.update(meant(near))
                self.fault(f"There is no property {key!r}{near}.", (*path, key), value=False, code="unknown-property")
        return {
            key: self.entry(schema, values, key, path, misspelt)
            if key in values or schema.required or schema.default is not None
            else None  # most of a server's thirty, a thousand times
            for key, schema in schemas.items()
        }

    def entry(
        self, schema: PropertySchema, values: Mapping[str, Any], key: str, path: Path, misspelt: Container[str]
    ) -> Any:
        here = (*path, key)
        if key not in values:
            if schema.default is not None:
                return self.value(schema, schema.default or None, here)
            if schema.required and key not in misspelt:  # that one was told
                self.fault(f"The property {key!r} is required.", here, code="missing-property")
            return None
        if not schema.implemented:
            self.fault(f"The property {key!r} is not implemented.", here, value=False)
            return None
        return self.value(schema, values[key], here)

    def value(self, schema: PropertySchema, value: Any, path: Path) -> Any:
        """One value, converted and checked; None where it is wrong."""
        if value is UNKNOWN:
            return UNKNOWN
        secret = isinstance(value, Secret)
        parts: tuple[str, ...] = ()
        if isinstance(value, Secret):
            value, parts = value.value, value.parts
        if value is None or (isinstance(value, Plain) and value.value is None):
            value = schema.default or _EMPTY.get(schema.kind)
        try:
            found = self._typed(schema, value, path)
            self._check(schema, found, path, secret=secret)
        except _Bad as bad:
            text = f"{bad}.{self._hinted(value)}"
            self.fault("The hidden value does not fit this property." if secret else text, path)
            return None
        return Secret(found, parts if isinstance(found, str) else ()) if secret and found is not None else found

    def _hinted(self, value: Any) -> str:
        if self.hint is None or not isinstance(value, Mapping) or len(value) != 1:
            return ""
        (name,) = value
        return f" {self.hint(name)}".rstrip()

    def _typed(self, schema: PropertySchema, value: Any, path: Path) -> Any:
        match schema.kind:
            case Kind.STRING:
                return _string(value, convert=False)
            case Kind.INTEGER:
                return _integer(plain(value))
            case Kind.NUMBER:
                return _number(plain(value))
            case Kind.BOOLEAN:
                return _boolean(plain(value))
            case Kind.LIST:
                return self._list(schema, value, path)
            case Kind.MAP:
                return self._map(schema, value, path)
            case Kind.ANY:
                return plain(value)

    def _list(self, schema: PropertySchema, value: Any, path: Path) -> Any:
        if value is None:
            return None
        if isinstance(value, str | Plain) and schema.allow_conversion:
            value = _string(value, convert=False).split(",")
        if not isinstance(value, list | tuple):
            raise _Bad(f"A list is wanted, not {shape(plain(value))}")
        item = (schema.schema or {}).get("*")
        if item is None:
            return [plain(part) for part in value]
        return [self.value(item, part, (*path, number)) for number, part in enumerate(value)]

    def _map(self, schema: PropertySchema, value: Any, path: Path) -> Any:
        if value is None:
            return None
        if schema.allow_conversion and isinstance(value, list | str | Plain):
            return _string(value, convert=True)  # as Heat: what is no map is handed on as text
        if not isinstance(value, Mapping):
            raise _Bad(f"A map is wanted, not {shape(plain(value))}")
        if not schema.schema:
            return {str(key): plain(part) for key, part in value.items()}
        if set(schema.schema) == {"*"}:
            item = schema.schema["*"]
            return {str(key): self.value(item, part, (*path, str(key))) for key, part in value.items()}
        return self.map_of(schema.schema, value, path)

    def _check(self, schema: PropertySchema, found: Any, path: Path, *, secret: bool) -> None:
        if found is None or not schema.constraints:
            return
        clear = reveal(found)
        for rule in schema.constraints:
            if constraints.is_pending(rule):
                self._wait_for_cloud(rule, found, path, secret=secret)
                continue
            message = constraints.broken(rule, clear, "the hidden value" if secret else None)
            if message:
                self.fault(message[:1].upper() + message[1:] + ".", path)

    def _wait_for_cloud(self, rule: Constraint, found: Any, path: Path, *, secret: bool) -> None:
        assert isinstance(rule, Custom)
        self.pending.append(Pending(constraint=rule.name, value=Secret(found) if secret else found, path=path))


_EMPTY: Mapping[Kind, Any] = {Kind.STRING: "", Kind.LIST: [], Kind.MAP: {}}
"""What an explicit null stands for where there is no default."""


def _string(value: Any, *, convert: bool) -> str:
    if isinstance(value, Plain):
        return value.text
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int):
        return str(value)
    if convert and isinstance(value, list):
        return as_json(plain(value))
    if isinstance(value, float):
        raise _Bad(f"Text is wanted, not the number {value!r}: put it in quotes")
    raise _Bad(f"Text is wanted, not {shape(value)}")


def _integer(value: Any) -> int:
    """A whole number; a fraction of a number (not of a text) is cut off, as in Heat."""
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            raise _Bad(f"{value!r} is not a whole number") from None
    try:
        return int(_number(value))
    except (ValueError, OverflowError):
        raise _Bad(f"{value!r} is not a whole number") from None


def _number(value: Any) -> int | float:
    if isinstance(value, bool | int | float):
        return value
    if value is None:
        return 0
    if isinstance(value, str):
        for kind in (int, float):
            try:
                return kind(value)
            except ValueError:
                continue
        raise _Bad(f"{value!r} is not a number")
    raise _Bad(f"A number is wanted, not {shape(value)}")


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if value is None:
        return False
    raise _Bad(f"True or false is wanted, not {value!r}")
