"""A template on this machine, checked as a server would check it, with all that is wrong at once."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from calor.server.authoring.files import LIMITS, Bundle, Reader
from calor.server.authoring.limits import beyond_defaults
from calor.server.authoring.schema_keys import keys_in_properties
from calor.server.authoring.texts import load
from calor.server.authoring.tosca_sources import tosca_at
from calor.server.authoring.unmatched import in_their_lines
from calor.server.engine.revision.blueprint import Blueprint, draw
from calor.server.engine.revision.nested_checks import Findings, check_tree
from calor.server.engine.revision.template_type import parsed
from calor.server.engine.revision.translating import translate_here
from calor.server.errors import CalorError, InvalidInput, NotSupported, Problem
from calor.server.resources.registry import installed
from calor.server.template import (
    Environment,
    Model,
    Pseudo,
    Template,
    bind,
    merge_for,
    parse_environment,
    parse_template,
    told_together,
)
from calor.server.template.lookalikes import lookalikes
from calor.server.template.problems import in_order
from calor.server.tosca import Archive

DEPTH = 5
"""Heat's default of ``max_nested_stack_depth``."""
UNKNOWN_TYPE = "unknown-type"
TRANSLATED = " (as HOT)"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be checked. ``allow_unknown_types``: a type that does not exist here is a warning."""

    template: Path
    environments: Sequence[Path] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    allow_unknown_types: bool = False
    strict: bool = False
    read: Reader = load


@dataclass
class Report:
    """``blueprint`` is there as far as the template could be read; ``texts`` are all files by their names in it."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    template: Template | None = None
    translation: str | None = None
    """The HOT text of a TOSCA template."""
    blueprint: Blueprint | None = None
    resources: int = 0
    """Of the whole tree, as far as it is known."""

    @property
    def is_valid(self) -> bool:
        return not self.problems


def check(wanted: Wanted) -> Report:
    """Raises `OSError` where the template or an environment itself cannot be read."""
    report = Report()
    bundle = Bundle(Path(wanted.template).absolute().parent, wanted.read)
    template = _template(wanted, bundle, report)
    environment = _environment(wanted, template, bundle, report)
    report.texts |= bundle.texts
    report.template = template
    if template is not None and environment is not None:
        report.warnings += template.warnings
        files = _whole(template, environment, wanted, bundle, report)
        _note_lookalikes(template, files, wanted, report)
    root = bundle.name_of(wanted.template.absolute())
    report.warnings += beyond_defaults(root, report.texts, wanted.parameters, report.resources)
    absent = {(one.file, one.line) for one in bundle.problems}
    others = [one for one in report.problems if (one.file, one.line) not in absent]
    found = dict.fromkeys([*bundle.problems, *others])  # what follows from an absent file says no more
    root = root if template is None else template.source.file
    report.problems, report.warnings = in_order(found, root), in_order(report.warnings, root)
    return report


def as_given(wanted: Wanted, report: Report) -> Report:
    """The same with files named as whoever asked would name them: as given, or on the way from the template."""
    folder = wanted.template.absolute().parent
    given = {os.path.relpath(path.absolute(), folder): str(path) for path in (wanted.template, *wanted.environments)}

    def name(inside: str) -> str:
        plain = inside.removesuffix(TRANSLATED)
        return given.get(plain, os.path.normpath(wanted.template.parent / plain)) + inside[len(plain) :]

    def named(problems: list[Problem]) -> list[Problem]:
        return [replace(one, file=name(one.file)) if one.file else one for one in problems]

    texts = {name(inside): text for inside, text in report.texts.items()}
    return replace(report, problems=named(report.problems), warnings=named(report.warnings), texts=texts)


def _template(wanted: Wanted, bundle: Bundle, report: Report) -> Template | None:
    path = wanted.template.absolute()
    name = bundle.name_of(path)
    try:
        tosca = tosca_at(path, name, wanted.read)
        if tosca is not None:
            return _translated(tosca, name, wanted, bundle, report)
        text = wanted.read(path).content
        report.texts[name] = text
        return parse_template(bundle.follow(text, path), file=name, strict=wanted.strict, limits=LIMITS, lenient=True)
    except CalorError as error:
        report.problems += problems_of(error, name)
        return None


def _translated(tosca: Archive, name: str, wanted: Wanted, bundle: Bundle, report: Report) -> Template:
    """What follows is about the translation, which has lines of its own."""
    report.texts[name] = tosca.template
    made = translate_here(tosca.template, tosca.files, _values(wanted), name, LIMITS)
    own_name = f"{name}{TRANSLATED}"
    report.translation = report.texts[own_name] = made.template
    bundle.texts |= made.files
    return parse_template(made.template, file=own_name, limits=LIMITS)


def _values(wanted: Wanted) -> Mapping[str, Any]:
    """All parameters that are given. What is wrong with an environment is told when it is read for itself."""
    found: dict[str, Any] = {}
    for path in wanted.environments:
        try:
            one = parse_environment(wanted.read(path.absolute()).content, lenient=True)
        except CalorError:
            continue
        found |= {**one.parameter_defaults, **one.parameters}
    return {**found, **wanted.parameters}


def _environment(wanted: Wanted, template: Template | None, bundle: Bundle, report: Report) -> Environment | None:
    found: list[Environment] = []
    for given in wanted.environments:
        path = given.absolute()
        name, text = bundle.name_of(path), wanted.read(path).content
        report.texts[name] = text
        try:
            one = parse_environment(text, file=name, lenient=True)
        except CalorError as error:
            report.problems += problems_of(error, name)
            continue
        report.warnings += one.warnings
        report.problems += one.faults
        found.append(bundle.registry(one, path, text))
    if len(found) < len(wanted.environments):
        return None
    return merge_for(template, bundle.texts, found) if found else Environment()


def _note_lookalikes(template: Template, files: Iterable[str], wanted: Wanted, report: Report) -> None:
    """Of the template and of those that its types are; what is an error at the same place says it already."""
    told = {(one.file, one.path) for one in report.problems}
    nested = [parsed(report.texts[name], name) for name in files if name in report.texts]
    found = [
        one
        for each in (template, *nested)
        for one in lookalikes(each, keys_in_properties)
        if (one.file, one.path.rpartition(".")[0]) not in told
    ]
    (report.problems if wanted.strict else report.warnings).extend(found)


def _whole(
    template: Template, environment: Environment, wanted: Wanted, bundle: Bundle, report: Report
) -> Iterable[str]:
    """The files of the nested templates that were looked at."""
    name, findings = template.source.file, Findings()
    registry, unknown, faults = installed(), list[Problem](), list[Problem]()
    try:
        with told_together(faults):
            model = _bound(template, environment, wanted, bundle, faults)
            drawn = draw(model, registry, bundle.texts, unknown)
            report.blueprint = drawn if drawn.graph.requires.keys() == model.resources.keys() else None  # a circle
            report.resources = check_tree(drawn, registry, DEPTH, unknown, findings).resources
            environments = [bundle.name_of(path.absolute()) for path in wanted.environments]
            told = in_their_lines(findings.unmatched.told(), {one: report.texts[one] for one in environments})
            (report.problems if wanted.strict else report.warnings).extend(told)
    except CalorError as error:
        found = problems_of(error, name)
        is_let = {wanted.allow_unknown_types: UNKNOWN_TYPE}.get(True)
        report.problems += [problem for problem in found if problem.code != is_let]
        report.warnings += [problem for problem in found if problem.code == is_let]
    return sorted(findings.files)


def _bound(
    template: Template, environment: Environment, wanted: Wanted, bundle: Bundle, faults: list[Problem]
) -> Model:
    return bind(
        template,
        environment,
        wanted.parameters,
        pseudo=Pseudo(stack_name="stack", project_id="project", facade={}),
        files=bundle.texts,
        allow_missing=True,
        faults=faults,
    )


def problems_of(error: CalorError, file: str) -> list[Problem]:
    """The faults of any refusal; those without a file of their own belong to ``file``."""
    if isinstance(error, NotSupported):
        return [Problem(message=error.detail, file=file, code="not-supported")]
    if not isinstance(error, InvalidInput):
        return [Problem(message=error.detail, file=file, code="limit")]
    return [problem if problem.file else replace(problem, file=file) for problem in error.problems]
