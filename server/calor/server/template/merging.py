"""Several environments merged in order, each parameter by its strategy."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calor.server.errors import InvalidInput, Problem, RequestLimitExceeded
from calor.server.template.environment import STRATEGIES, Environment, is_file
from calor.server.template.language import parse_template
from calor.server.template.model import ParameterKind, ParameterSchema, Template
from calor.server.template.values import plain, shape


class _Clash(Exception):
    """Two values that the strategy cannot merge."""


def merge_environments(
    environments: Sequence[Environment],
    schemas: Mapping[str, ParameterSchema] | None = None,
    *,
    base: Environment | None = None,
) -> Environment:
    """Merged in order by their merge strategies; later ones win, also with 0, false and empty text.

    ``schemas`` (the parameters of the template and of the templates in it) say what a value is merged as; where they
    are not known, its own shape does. ``base`` is what the request says itself: it comes first, and decides on no
    strategy. Conflicting strategies are `InvalidInput` naming both files.
    """
    merged = base or Environment()
    problems: list[Problem] = []
    strategies = _Strategies(schemas)
    for environment in environments:
        problems.extend(strategies.note(environment))
        merged = _merge(merged, environment, strategies, problems)
    if problems:
        raise InvalidInput(problems)
    return merged


def merge_for(template: Template | None, files: Mapping[str, str], environments: Sequence[Environment]) -> Environment:
    """`merge_environments` of the files that came with a template, whose parameters, and those of the templates among
    ``files``, say of what type values are. It may be one that cannot be read."""
    schemas: dict[str, ParameterSchema] = {}
    if template is None or not any(one.parameter_merge_strategies for one in environments):
        return merge_environments(environments)
    for text in (text for name, text in files.items() if is_file(name)):
        with contextlib.suppress(InvalidInput, RequestLimitExceeded):  # told where it is used
            schemas |= parse_template(text, lenient=True).parameters
    return merge_environments(environments, {**schemas, **template.parameters})


class _Strategies:
    """Of each parameter the strategy that the first file with a value of it says, or which it says for all."""

    def __init__(self, schemas: Mapping[str, ParameterSchema] | None) -> None:
        self.schemas = schemas
        self._known: dict[str, tuple[str, str]] = {}

    def of(self, name: str) -> str:
        return self._known[name][0] if name in self._known else "overwrite"

    def kind(self, name: str, value: Any) -> ParameterKind | None:
        """What a value is merged as; None where it is a parameter of nobody's."""
        if self.schemas is None:
            return _SHAPES.get(type(value))
        return self.schemas[name].kind if name in self.schemas else None

    def note(self, environment: Environment) -> Iterator[Problem]:
        said = environment.parameter_merge_strategies
        default = said.get("default", "overwrite")
        for name, value in (*environment.parameters.items(), *environment.parameter_defaults.items()):
            if plain(value) is None or (self.schemas is not None and name not in self.schemas):
                continue
            before, file = self._known.get(name, (default, ""))
            strategy = said.get(name, before)
            strategy = strategy if strategy in STRATEGIES else default
            if file and strategy != before:
                message = (
                    f"The merge strategy of the parameter {name!r} is {before!r} in {file} and {strategy!r} in"
                    f" {environment.file}; it can be one only."
                )
                path = f"parameter_merge_strategies.{name}"
                yield Problem(message=message, path=path, file=environment.file, code="merge-strategy")
            self._known.setdefault(name, (strategy, environment.file))


_SHAPES: Mapping[type, ParameterKind] = {dict: ParameterKind.JSON, list: ParameterKind.LIST, str: ParameterKind.STRING}


def _merge(first: Environment, then: Environment, strategies: _Strategies, problems: list[Problem]) -> Environment:
    def merged(section: str) -> dict[str, Any]:
        old, new = getattr(first, section), getattr(then, section)
        if not old:
            return dict(new)
        found = dict(old)
        for name, value in new.items():
            if value is None:
                continue
            strategy = strategies.of(name)
            try:
                found[name] = _value(found.get(name), value, strategy, strategies.kind(name, plain(value)))
            except _Clash as clash:
                message = f"The values of the parameter {name!r} cannot be merged by {strategy!r}: {clash}."
                problems.append(
                    Problem(message=message, path=f"{section}.{name}", file=then.file, code="merge-conflict")
                )
        return found

    return Environment(
        parameters=merged("parameters"),
        parameter_defaults=merged("parameter_defaults"),
        parameter_merge_strategies={**first.parameter_merge_strategies, **then.parameter_merge_strategies},
        resource_registry=_deep(first.resource_registry, then.resource_registry),
        encrypted_param_names=tuple(dict.fromkeys([*first.encrypted_param_names, *then.encrypted_param_names])),
        event_sinks=(*first.event_sinks, *then.event_sinks),
        warnings=(*first.warnings, *then.warnings),
        faults=(*first.faults, *then.faults),
        file=then.file,
    )


def _value(old: Any, new: Any, strategy: str, kind: ParameterKind | None) -> Any:
    """Numbers and booleans cannot be merged; texts of numbers can, as texts."""
    if strategy not in ("merge", "deep_merge") or kind is None:
        return new
    old, new = plain(old), plain(new)
    match kind:
        case ParameterKind.JSON:
            return _maps(old, _from_json(new), deep=strategy == "deep_merge")
        case ParameterKind.LIST:
            return _lists(old, new)
        case ParameterKind.STRING:
            return _texts("" if old is None else old, new)
        case ParameterKind.NUMBER:
            return _texts(old, new)
        case _:
            raise _Clash("a boolean cannot be merged")


def _from_json(value: Any) -> Any:
    if not isinstance(value, str) or not value:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise _Clash("the text is not JSON") from None


def _texts(old: Any, new: Any) -> str:
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    raise _Clash(f"texts are joined, not {shape(old)} and {shape(new)}; quotes make a text")


def _lists(old: Any, new: Any) -> Any:
    if not isinstance(new, str | list):
        raise _Clash(f"a list or text with commas is wanted, not {shape(new)}")
    if not old:
        return new
    if isinstance(old, list) and isinstance(new, list):
        return [*old, *new]
    if isinstance(old, str) and isinstance(new, str):
        return f"{old},{new}"
    raise _Clash(f"they are {shape(old)} and {shape(new)}")


def _maps(old: Any, new: Any, *, deep: bool) -> Any:
    """Nothing does not replace something."""
    if not old:
        return new
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        raise _Clash(f"they are {shape(old)} and {shape(new)}")
    parts = {key: value for key, value in new.items() if value is not None}
    return {**old, **({key: _part(old, key, value) for key, value in parts.items()} if deep else parts)}


def _part(old: Mapping[str, Any], key: str, new: Any) -> Any:
    """One value of two maps that are merged in depth: maps, lists and texts are, others replaced."""
    before = old.get(key)
    if isinstance(new, Mapping):
        return _maps(before, new, deep=True)
    if isinstance(new, str):
        return _texts(old.get(key, ""), new)
    if isinstance(new, list) and before:
        if not isinstance(before, list):
            raise _Clash(f"a part is {shape(before)} and a list")
        return [*before, *new]
    return new


def _deep(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Registries: maps are merged, what is no map is replaced."""
    found = dict(old)
    for key, value in new.items():
        both = isinstance(found.get(key), Mapping) and isinstance(value, Mapping)
        found[key] = _deep(found[key], value) if both else value
    return found
