"""The templates that a template leads to, checked before anything is stored: as far as their values are known. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from calor.server.engine.revision.blueprint import Blueprint, converted, draw, validate
from calor.server.engine.revision.kinds import typed
from calor.server.engine.revision.template_type import TemplateType, parsed
from calor.server.errors import BadRequest, InvalidInput, Problem, RequestLimitExceeded
from calor.server.resources.base import Incarnation, Nested, Registry, ResourceType
from calor.server.template import (
    NothingKnown,
    Pending,
    Template,
    bind,
    has_unknown,
    parse_environment,
    parse_template,
)

SAMPLE = 20
"""Members of a group are alike: that many are checked (F110)."""


@dataclass
class Findings:
    """``resources`` counts the whole tree, as far as it is known; ``deferred`` are those that need a trust, and
    ``speaks_to_cloud`` says whether any of them may ask a cloud for anything."""

    problems: list[Problem] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    resources: int = 0
    deferred: list[str] = field(default_factory=list)
    speaks_to_cloud: bool = False
    files: set[str] = field(default_factory=set)


def check_tree(blueprint: Blueprint, registry: Registry, max_depth: int, problems: Sequence[Problem] = ()) -> Findings:
    """Raises `InvalidInput` with ``problems`` and those of all templates (F107), `RequestLimitExceeded` for too deep a
    nesting."""
    findings = Findings(problems=list(problems))
    _check(blueprint, registry, max_depth, (), findings)
    if findings.problems:
        raise InvalidInput(list(dict.fromkeys(findings.problems)))
    return findings


def _check(
    blueprint: Blueprint,
    registry: Registry,
    max_depth: int,
    above: tuple[str, ...],
    findings: Findings,
    where: str = "",
) -> None:
    findings.resources += len(blueprint.kinds)
    findings.speaks_to_cloud |= not all(kind.pure or kind.is_nested for kind in blueprint.kinds.values())
    findings.deferred += [
        where + name
        for name, kind in blueprint.kinds.items()
        if kind.is_deferred({**kind.operator_defaults, **blueprint.definition(name).properties})
    ]
    wrong = False
    try:
        findings.pending.extend(validate(blueprint))
    except InvalidInput as error:
        findings.problems.extend(error.problems)
        wrong = True
    for name, kind in blueprint.kinds.items():
        if not kind.is_nested or (wrong and not isinstance(kind, TemplateType)):
            continue
        if len(above) >= max_depth or (isinstance(kind, TemplateType) and kind.name in above):
            raise RequestLimitExceeded(
                f"max_nested_stack_depth: stacks may be nested {max_depth} deep; {name} ({kind.name}) goes deeper."
            )
        try:
            child = _child(blueprint, name, kind, registry, findings)
            if child is not None:
                _check(child, registry, max_depth, (*above, kind.name), findings, f"{where}{name}.")
        except InvalidInput as error:
            findings.problems.extend(error.problems)
        except RequestLimitExceeded:
            raise
        except BadRequest as error:
            findings.problems.append(Problem(message=error.detail, path=f"resources.{name}", code="nested-template"))


def _child(
    blueprint: Blueprint, name: str, kind: ResourceType[Any], registry: Registry, findings: Findings
) -> Blueprint | None:
    """None where it is not known before its values are, or was checked already."""
    values, _, _ = converted(blueprint, name, NothingKnown())
    if isinstance(kind, TemplateType):
        if kind.name in findings.files:
            findings.resources += len(kind.template.resources)
            return None
        findings.files.add(kind.name)
        return _drawn(blueprint, name, kind.template, values, blueprint.files, registry, findings)
    if has_unknown(values):
        findings.speaks_to_cloud = True  # nobody knows yet what will be in it
        return None
    me = Incarnation(id="", name=name, type=kind.name, physical_name=name)
    nested = kind.nested(me, typed(kind, values), None, ())
    template, left_out = _sample(nested)
    findings.resources += left_out
    files = blueprint.files if nested.files is None else nested.files
    return _drawn(blueprint, name, template, nested.parameters, files, registry, findings, nested.environment)


def _sample(nested: Nested) -> tuple[Template, int]:
    if isinstance(nested.template, str):
        return parsed(nested.template, nested.file or "template"), 0
    resources = dict(nested.template.get("resources") or {})
    first = dict(list(resources.items())[:SAMPLE])
    return parse_template({**nested.template, "resources": first}), len(resources) - len(first)


def _drawn(
    blueprint: Blueprint,
    name: str,
    template: Template,
    values: Mapping[str, Any],
    files: Mapping[str, str],
    registry: Registry,
    findings: Findings,
    environment: Mapping[str, Any] | None = None,
) -> Blueprint:
    given = {key: value for key, value in values.items() if value is not None and not has_unknown(value)}
    inner = blueprint.model.environment.nested(name) if environment is None else parse_environment(environment)
    model = bind(template, inner, given, files=files, allow_missing=True)
    return draw(model, registry, files, findings.problems)
