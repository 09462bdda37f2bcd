"""Several environments merged in order, each parameter by its strategy."""

from collections.abc import Mapping, Sequence
from typing import Any

from calor.server.errors import InvalidInput, Problem
from calor.server.template.environment import Environment
from calor.server.template.model import ParameterKind, ParameterSchema
from calor.server.template.values import Plain, plain


class _Clash(Exception):
    """Two values that the strategy cannot merge."""


def merge_environments(
    environments: Sequence[Environment], schemas: Mapping[str, ParameterSchema] | None = None
) -> Environment:
    """Merged in order by their merge strategies; later ones win, also with 0, false and empty text.

    ``schemas`` (the template's parameters) say what text means for ``merge``: the texts of a list are joined
    with a comma. Conflicting strategies are `InvalidInput` naming both files.
    """
    merged = Environment()
    problems: list[Problem] = []
    strategies: dict[str, tuple[str, str]] = {}
    for environment in environments:
        problems.extend(_note_strategies(strategies, environment))
        merged = _merge(merged, environment, schemas or {}, strategies, problems)
    if problems:
        raise InvalidInput(problems)
    return merged


def _note_strategies(known: dict[str, tuple[str, str]], environment: Environment) -> list[Problem]:
    problems = []
    for name, strategy in environment.parameter_merge_strategies.items():
        before, file = known.setdefault(name, (strategy, environment.file))
        if before != strategy and name != "default":
            message = (
                f"The merge strategy of the parameter {name!r} is {before!r} in {file} and {strategy!r} in"
                f" {environment.file}; it can be one only."
            )
            path = f"parameter_merge_strategies.{name}"
            problems.append(Problem(message=message, path=path, file=environment.file, code="merge-strategy"))
    default = environment.parameter_merge_strategies.get("default", "overwrite")
    for name in (*environment.parameters, *environment.parameter_defaults):
        known.setdefault(name, (default, environment.file))
    return problems


def _merge(
    first: Environment,
    then: Environment,
    schemas: Mapping[str, ParameterSchema],
    strategies: Mapping[str, tuple[str, str]],
    problems: list[Problem],
) -> Environment:
    def merged(section: str) -> dict[str, Any]:
        old, new = getattr(first, section), getattr(then, section)
        found = dict(old)
        for name, value in new.items():
            if value is None and name in old:
                continue
            strategy = strategies[name][0] if name in old else "overwrite"
            try:
                found[name] = _value(found.get(name), value, strategy, schemas.get(name))
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
        file=then.file,
    )


def _value(old: Any, new: Any, strategy: str, schema: ParameterSchema | None) -> Any:
    if strategy not in ("merge", "deep_merge"):
        return new
    old, new = (
        value.text if isinstance(value, Plain) and _wants_text(schema) else plain(value) for value in (old, new)
    )
    kind = schema.kind if schema else None
    if isinstance(old, list) and isinstance(new, list):
        return [*old, *new]
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return _deep_values(old, new) if strategy == "deep_merge" else _shallow(old, new)
    if isinstance(old, str) and isinstance(new, str) and kind not in _NOT_AS_TEXT:
        return ",".join(part for part in (old, new) if part) if kind is ParameterKind.LIST else old + new
    raise _Clash(f"they are {_shape(old)} and {_shape(new)}")


_NOT_AS_TEXT = (ParameterKind.JSON, ParameterKind.BOOLEAN)


def _shallow(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Nothing does not replace something."""
    return {**old, **{key: value for key, value in new.items() if value is not None or key not in old}}


def _wants_text(schema: ParameterSchema | None) -> bool:
    return schema is not None and schema.kind in (ParameterKind.STRING, ParameterKind.LIST)


def _shape(value: Any) -> str:
    return {dict: "a map", list: "a list", str: "text", bool: "a boolean"}.get(type(value), "a number")


def _deep_values(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(old)
    for key, value in new.items():
        if key not in found or found[key] is None:
            found[key] = value
        elif value is not None:
            found[key] = _deep_value(found[key], value)
    return found


def _deep_value(old: Any, new: Any) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return _deep_values(old, new)
    if isinstance(old, list) and isinstance(new, list):
        return [*old, *new]
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    raise _Clash(f"a part is {_shape(old)} and {_shape(new)}")


def _deep(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Registries: maps are merged, what is no map is replaced."""
    found = dict(old)
    for key, value in new.items():
        both = isinstance(found.get(key), Mapping) and isinstance(value, Mapping)
        found[key] = _deep(found[key], value) if both else value
    return found
