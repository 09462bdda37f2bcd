"""The templates that a template leads to, checked before anything is stored: as far as their values are known. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from calor.server.engine.revision.blueprint import Blueprint, converted, draw, examined
from calor.server.engine.revision.kinds import typed
from calor.server.engine.revision.nested_sources import known, surroundings
from calor.server.engine.revision.template_type import TemplateType, parsed
from calor.server.engine.revision.unmatched import Unmatched
from calor.server.errors import BadRequest, InvalidInput, Problem, RequestLimitExceeded
from calor.server.resources.base import Incarnation, Nested, Registry, ResourceType
from calor.server.template import (
    NothingKnown,
    Origin,
    Pending,
    Template,
    bind,
    has_call,
    has_unknown,
    parse_template,
)
from calor.server.template.binding import WRONG
from calor.server.template.source import Source, dotted
from calor.server.template.stages import together

SAMPLE = 20
"""Members of a group are alike: that many are checked (F110)."""
_OF_VALUES = frozenset({"property-value", "parameter-value", "unknown-type"})
"""Codes of problems whose place is a value; that of others is its key."""


@dataclass
class Findings:
    """``resources`` counts the whole tree, as far as it is known; ``deferred`` are those that need a trust, and
    ``speaks_to_cloud`` says whether any of them may ask a cloud for anything. ``faults`` are those of nested templates
    themselves, ``problems`` what is found in what could be read; ``unmatched`` what the environment says in vain."""

    faults: list[Problem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    pending: list[tuple[Source, Pending]] = field(default_factory=list)
    resources: int = 0
    deferred: list[str] = field(default_factory=list)
    speaks_to_cloud: bool = False
    files: set[str] = field(default_factory=set)
    unmatched: Unmatched = field(default_factory=Unmatched)


def check_tree(
    blueprint: Blueprint,
    registry: Registry,
    max_depth: int,
    problems: Sequence[Problem] = (),
    findings: Findings | None = None,
) -> Findings:
    """Raises `InvalidInput` with ``problems`` and those of all templates (F107), `RequestLimitExceeded` for too deep a
    nesting. What was found is in ``findings``, too."""
    findings = findings or Findings()
    findings.problems.extend(problems)
    _check(blueprint, registry, max_depth, (), findings)
    if found := together(findings.faults, findings.problems):
        raise InvalidInput(found)
    return findings


def _check(
    blueprint: Blueprint,
    registry: Registry,
    max_depth: int,
    above: tuple[str, ...],
    findings: Findings,
    where: str = "",
) -> None:
    _count(blueprint, findings, where)
    findings.unmatched.note(blueprint, where)
    source = blueprint.model.template.source
    problems, pending = examined(blueprint)
    findings.problems.extend(problems)
    findings.pending.extend((source, one) for one in pending)
    wrong = _resources_of(problems, source.file)
    for name, kind in blueprint.kinds.items():
        if not kind.is_nested or (name in wrong and not isinstance(kind, TemplateType)):
            continue
        if isinstance(kind, TemplateType) and kind.name in above:
            circle = " → ".join([*above[above.index(kind.name) :], kind.name])
            raise RequestLimitExceeded(
                f"Templates contain each other in a circle: {circle} (stacks may be nested {max_depth} deep, "
                "max_nested_stack_depth)."
            )
        if len(above) >= max_depth:
            raise RequestLimitExceeded(
                f"max_nested_stack_depth: stacks may be nested {max_depth} deep; {name} ({kind.name}) goes deeper."
            )
        try:
            known = len(findings.problems)
            child = _child(blueprint, name, kind, registry, findings)
            if child is not None:
                _check(child, registry, max_depth, (*above, kind.name), findings, f"{where}{name}.")
            findings.problems[known:] = _told_of_owner(blueprint, name, findings.problems[known:])
        except InvalidInput as error:
            findings.problems.extend(error.problems)
        except RequestLimitExceeded:
            raise
        except BadRequest as error:
            findings.problems.append(Problem(message=error.detail, path=f"resources.{name}", code="nested-template"))


def _told_of_owner(blueprint: Blueprint, name: str, problems: Sequence[Problem]) -> list[Problem]:
    """Of a group, whose template nobody has written: where the group says what a member is, and once for all members
    that are alike."""
    source, path = blueprint.model.template.source, blueprint.model.template.path("resources", name, "properties")
    defined = (*path, *blueprint.kinds[name].handed_on)
    found: dict[tuple[str, str], Problem] = {}
    for one in problems:
        if one.file != generated(name):
            found[str(one), one.code] = one
        elif (one.message, one.code) not in found:
            written = (*defined, *_within_member(one.path)) if len(defined) == len(path) + 1 else path
            placed = source.problem(one.message, written, value=one.code in _OF_VALUES, code=one.code)
            found[one.message, one.code] = replace(placed, path=f"{dotted(path[:2])}.{one.path}")
    return list(found.values())


def _within_member(path: str) -> list[str | int]:
    """The parts of a problem's path behind ``resources.NAME``."""
    parts = re.findall(r"[^.\[\]]+", path)[2:]
    return [int(part) if part.isdecimal() else part for part in parts]


def _where_given(blueprint: Blueprint, name: str, problem: Problem) -> Problem | None:
    """A wrong value of a nested template's parameter, at the property that gives it; None where it was not written
    there."""
    template = blueprint.model.template
    written, prop = template.resources[name].properties, problem.path.partition(".")[2]
    if problem.code != "parameter-value" or f" {WRONG[Origin.GIVEN]}: " not in problem.message:
        return None
    if not isinstance(blueprint.kinds[name], TemplateType) or not isinstance(written, Mapping):
        return None
    if prop not in written or has_call(written[prop]):
        return None
    path = template.path("resources", name, "properties", prop)
    return template.source.problem(problem.message, path, value=True, code="parameter-value")


def generated(name: str) -> str:
    """What problems call a template that a resource's type has made."""
    return f"template of {name}"


def _count(blueprint: Blueprint, findings: Findings, where: str) -> None:
    """What there will be, and what there may be, of one template."""
    kinds = {**blueprint.kinds, **blueprint.perhaps}
    findings.resources += len(kinds)
    findings.speaks_to_cloud |= not all(kind.pure or kind.is_nested for kind in kinds.values())
    findings.speaks_to_cloud |= any(kind.is_nested for kind in blueprint.perhaps.values())
    written = blueprint.model.template.resources
    for name, kind in kinds.items():
        definition = blueprint.definition(name) if name in blueprint.kinds else written[name]
        properties = definition.properties if isinstance(definition.properties, Mapping) else {}
        if kind.is_deferred({**kind.operator_defaults, **properties}):
            findings.deferred.append(where + name)


def _resources_of(problems: Sequence[Problem], file: str) -> set[str]:
    """The names of the resources that problems of one template are about."""
    return {
        one.path.split(".")[1] for one in problems if one.file == file and one.path.lower().startswith("resources.")
    }


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
        return _drawn(blueprint, name, kind.template, Nested(template="", parameters=values), registry, findings)
    if has_unknown(values):
        findings.speaks_to_cloud = True  # nobody knows yet what will be in it
        findings.unmatched.is_whole = False
        return None
    me = Incarnation(id="", name=name, type=kind.name, physical_name=name)
    nested = kind.nested(me, typed(kind, values), None, ())
    template, left_out = _sample(nested, generated(name))
    findings.resources += left_out
    findings.unmatched.is_whole &= not left_out
    return _drawn(blueprint, name, template, nested, registry, findings)


def _sample(nested: Nested, file: str) -> tuple[Template, int]:
    if isinstance(nested.template, str):
        return parsed(nested.template, nested.file or f"the {file}"), 0
    resources = dict(nested.template.get("resources") or {})
    first = dict(list(resources.items())[:SAMPLE])
    template = parse_template({**nested.template, "resources": first}, file=file, lenient=True)
    return template, len(resources) - len(first)


def _drawn(
    blueprint: Blueprint, name: str, template: Template, nested: Nested, registry: Registry, findings: Findings
) -> Blueprint:
    """``template`` is that of ``nested``, parsed, or a part of it."""
    inner, files = surroundings(blueprint, name, nested)
    faults = list[Problem]()
    given = known(nested.parameters)
    model = bind(template, inner, given, files=files, allow_missing=True, later=True, faults=faults)
    for one in faults:
        placed = _where_given(blueprint, name, one)
        (findings.faults if placed is None else findings.problems).append(placed or one)
    return draw(model, registry, files, findings.problems)
