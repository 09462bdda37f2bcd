"""Templates and environments that people wrote, against the record of what Heat said of each."""

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tosca_records
from judging import Found, Judge, Verdict, attempt
from record_stages import KNOWN, LATER, NOT_ITS_OWN, fails_later, is_accepted, is_asked, is_of_opaque, status

from calor.server.authoring.files import Bundle
from calor.server.engine.revision.blueprint import draw, validate
from calor.server.engine.revision.kinds import Kinds
from calor.server.errors import CalorError, InvalidInput, Problem
from calor.server.plan import build_graph
from calor.server.template import (
    Environment,
    Limits,
    Model,
    ParameterSchema,
    Pseudo,
    Template,
    bind,
    parse_environment,
    parse_template,
    plain,
    references,
)
from calor.server.template.properties import AllowedValues, Custom, Length, Modulo, Pattern, Range

LIMITS = Limits(size=4 << 20)


class Files(dict[str, str]):
    """The files that a template names: those that lie beside it, and empty ones for the others."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def __contains__(self, name: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return self.get(name) or ""

    def get(self, name: str, default: Any = None) -> Any:
        path = self.folder / name
        return path.read_text(errors="replace") if "://" not in name and _is_file(path) else default


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have
        return False


def verdicts(root: Path, records: Mapping[str, Any], judge: Judge) -> Iterator[Verdict]:
    """One verdict for whether a template is accepted, and one for each field of the record."""
    for name, record in records.items():
        if record["kind"] in ("hot", "cfn"):
            yield from _of_template(root / record.get("origin", name), name, record, judge)
        elif record["kind"] == "env":
            yield from _of_environment(root / name, name, record, judge)
    yield from tosca_records.verdicts(root, records, judge)


def _of_template(path: Path, name: str, record: Mapping[str, Any], judge: Judge) -> Iterator[Verdict]:
    text = record.get("text", path.read_text(errors="replace"))  # a changed template brings its own
    files, kind = Files(path.parent), record["kind"]
    whole = functools.partial(attempt, lambda: _validated(text, path, name, files, record, whole=True))
    wanted: Any = True if is_accepted(record["stages"]) else {"error": {"http_status": status(record["stages"])}}
    if not any(words in json.dumps(record["stages"]) for words in NOT_ITS_OWN) and not is_of_opaque(record):
        found = attempt(lambda: _validated(text, path, name, files, record))
        if fails_later(record) and found.refusal is not None and found.codes <= LATER:
            wanted = {"error": {"http_status": 400}}
        if "Value must be" in json.dumps(record["stages"]) and found.refusal is None:
            found = whole()  # Heat converts the values of some properties for its graph, we do when all are checked
        yield judge.verdict(f"{kind}: accepted", name, record, wanted, [found])
    try:
        template = parse_template(text, file=name, limits=LIMITS)
        model = bind(template, given=record.get("inputs_used"), allow_missing=True, files=files, pseudo=PSEUDO)
        is_whole = record["stages"].get("files") == "ok"
        fields = _fields(template, model, path if is_whole else None) | _beyond(template, model, record, path)
        fields["files"] = _files(path, lambda bundle: bundle.follow(text, path))
    except CalorError:
        return
    for field, found in fields.items():
        if field == "edges_added_by_resource_plugins" and "property-value" in whole().codes:
            continue  # of wrong values Heat makes no edges
        if field in record:
            same = attempt(lambda found=found: found)  # type: ignore[misc]
            wanted = _read(field, record)
            yield judge.verdict(f"{kind}: {field}", name, record, _worded(wanted, wanted), [_told(same, wanted)])


PSEUDO = Pseudo(facade={}, stack_name="x", project_id="x")


def _environment(record: Mapping[str, Any], path: Path) -> Environment:
    """The one that the record was made with, its files named as seen from the template's folder."""
    used = record.get("environment_used")
    if not used:
        return Environment()
    file = _root(path) / used
    text = file.read_text(errors="replace")
    return Bundle(path.parent).registry(parse_environment(text), file, text)


def _validated(
    text: str, path: Path, name: str, files: Files, record: Mapping[str, Any], *, whole: bool = False
) -> bool:
    """As Heat's `template validate` checks one template: no parameter is given, types that are not there count as
    opaque, and unless it is to be checked as a ``whole`` the values of properties and the rules of their types are left
    to the create call."""
    template = parse_template(text, file=name, limits=LIMITS)
    registry = replace(Environment(), resource_registry=_environment(record, path).resource_registry)
    model = bind(template, registry, {}, allow_missing=True, files=files, pseudo=PSEUDO)
    unknown: list[Problem] = []
    found: Sequence[Problem] = ()
    try:
        validate(draw(model, KNOWN, files, unknown))
    except InvalidInput as error:
        found = error.problems
    problems = [one for one in (*unknown, *found) if whole or is_asked(one, model)]
    if problems and problems != [one for one in problems if one.code == "unknown-type"]:
        raise InvalidInput(problems)
    return True


def _beyond(template: Template, model: Model, record: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The language's version, and what the types of the resources say: those that nobody knows among those that Heat
    does not know, with and without the environment of the record, and the needs that they add."""
    files = Files(path.parent)
    found = {
        field: [
            name  # a nested template's file is a type that no registry knows
            for name in record.get(field, ())
            if name.endswith(".yaml") or Kinds(KNOWN, settings, files).find(name, "") is None
        ]
        for field, settings in (
            ("unknown_types", _environment(record, path)),
            ("unknown_without_environment", Environment()),
        )
    }
    kinds = {name: KNOWN.get(item.type) for name, item in model.resources.items()}
    plain_edges = {(name, need) for name, needs in build_graph(model).requires.items() for need in needs}
    others = {name: (kind.name, model.resources[name].properties) for name, kind in kinds.items() if kind}
    added = {
        (name, need)
        for name, kind in kinds.items()
        if kind is not None
        for need in kind.hidden_dependencies(kind.translate(model.resources[name].properties), others) - {name}
    }
    return found | {
        "template_class": _class(template),
        "edges_added_by_resource_plugins": sorted(map(list, added - plain_edges)),
    }


def _class(template: Template) -> str:
    """As Heat calls the reader of a language's version."""
    if template.language == "heat_template_version":
        return f"HOTemplate{template.version.replace('-', '')}"
    return "CfnTemplate" if template.language == "AWSTemplateFormatVersion" else "HeatTemplate"


def _root(path: Path) -> Path:
    return next(parent for parent in path.parents if (parent / "expected.json").is_file())


def _files(path: Path, take: Callable[[Bundle], Any]) -> list[str]:
    """The files that lie in the corpus and are taken along with a template or an environment, by their names there."""
    bundle, root = Bundle(path.parent), _root(path)
    take(bundle)
    files = ((path.parent / name).resolve() for name in bundle.texts)
    return sorted(f"corpus:{file.relative_to(root.resolve())}" for file in files)


def _fields(template: Template, model: Model, path: Path | None) -> dict[str, Any]:
    """What the record has, as we see it."""
    needs = {name: _requires(item) for name, item in model.resources.items()}
    return {
        "parameters": {name: _parameter(schema) for name, schema in template.parameters.items()},
        "parameter_groups": [
            ({"label": group.label} if group.label else {})
            | ({"description": group.description} if group.description else {})
            | {"parameters": list(group.parameters)}
            for group in template.parameter_groups
        ],
        "conditions": dict(model.conditions),
        "resources": {
            name: {"type": _type(item.type, path)}
            | ({"requires": needs[name]} if name in needs else {"enabled": False})
            | (
                {"deletion_policy": model.resources[name].deletion_policy.value}
                if name in needs and model.resources[name].deletion_policy.value != "Delete"
                else {}
            )
            for name, item in template.resources.items()
        },
        "edges": sorted([name, need] for name, found in build_graph(model).requires.items() for need in found),
        "outputs": sorted(template.outputs),
    }


def _type(name: str, path: Path | None) -> str:
    """A template file by its place in the corpus, as the record has it where all files were found."""
    if path is None:
        return name
    file = (path.parent / name).resolve()
    return f"corpus:{file.relative_to(_root(path).resolve())}" if _is_file(file) else name


def _requires(item: Any) -> list[str]:
    if item.external_id is not None:
        return []  # what is there already needs nothing
    uses = {use.resource for tree in (item.properties, item.metadata) for use in references(tree)}
    return sorted(uses | set(item.depends_on))


GROUP = ("label", "description", "parameters")
WORDS = ("label", "description")
"""Of a parameter, its group or its constraint: another scalar is its text here, and that scalar in Heat."""


def _worded(value: Any, beside: Any) -> Any:
    """The value without words that are no texts beside it."""
    if isinstance(value, dict):
        other = beside if isinstance(beside, dict) else {}
        return {
            key: _worded(one, other.get(key))
            for key, one in value.items()
            if key not in WORDS or isinstance(other.get(key), str | type(None))
        }
    if isinstance(value, list) and isinstance(beside, list) and len(value) == len(beside):
        return [_worded(one, other) for one, other in zip(value, beside, strict=True)]
    return value


def _told(found: Found, wanted: Any) -> Found:
    return replace(found, value=_worded(found.value, wanted))


def _read(field: str, record: Mapping[str, Any]) -> Any:
    """A field of the record in the form in which it is compared."""
    value = record[field]
    if field == "edges":
        added = record.get("edges_added_by_resource_plugins", [])
        return sorted(edge for edge in value if edge not in added)
    if field == "outputs":
        return sorted(value)
    if field == "parameter_groups":
        return [{key: one for key, one in group.items() if key in GROUP and one is not None} for group in value]
    if field == "parameters":
        return {name: _parameter_read(entry) for name, entry in value.items()}
    if field == "edges_added_by_resource_plugins":  # of types that are there; others count as opaque
        there = {name for name, item in record["resources"].items() if KNOWN.get(item["type"]) is not None}
        return sorted(edge for edge in value if there.issuperset(edge))
    if field == "conditions":  # those that can be evaluated
        return {name: one for name, one in value.items() if isinstance(one, bool)}
    if field == "files":
        return sorted(name for name in value if name.startswith("corpus:"))  # what lies elsewhere, a client fetches
    return value


def _parameter_read(entry: Mapping[str, Any]) -> dict[str, Any]:
    """As recorded, but for an empty label, and the tags with their texts."""
    found = {key: value for key, value in entry.items() if (key, value) != ("label", "")}
    return found | ({"tags": [str(tag) for tag in entry["tags"]]} if "tags" in entry else {})


def _parameter(schema: ParameterSchema) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": schema.type_name}
    if schema.has_default:
        entry["default"] = plain(schema.default)
    if schema.label and schema.label != schema.name:
        entry["label"] = schema.label
    for word in ("hidden", "immutable"):
        if getattr(schema, word):
            entry[word] = True
    if schema.tags:
        entry["tags"] = list(schema.tags)
    rules = [
        _rule(item.rule) | ({"description": item.description} if item.description else {})
        for item in schema.constraints
    ]
    return entry | ({"constraints": rules} if rules else {})


def _rule(rule: Any) -> dict[str, Any]:
    match rule:
        case Range() | Length():
            bounds = {key: value for key, value in (("min", rule.min), ("max", rule.max)) if value is not None}
            return {"type": type(rule).__name__, **bounds}
        case Modulo():
            return {"type": "Modulo", "step": rule.step, "offset": rule.offset}
        case AllowedValues():
            return {"type": "AllowedValues", "allowed": plain(list(rule.values))}
        case Pattern():
            return {"type": "AllowedPattern", "pattern": rule.regex}
        case Custom():
            return {"type": "CustomConstraint", "name": rule.name}
    raise TypeError(rule)


def _of_environment(path: Path, name: str, record: Mapping[str, Any], judge: Judge) -> Iterator[Verdict]:
    text = path.read_text(errors="replace")
    stages = record["stages"]
    wanted: Any = True if stages.get("environment") == "ok" else {"error": {"http_status": 400}}
    found = attempt(lambda: parse_environment(text, file=name).raw())
    yield judge.verdict("env: accepted", name, record, wanted, [attempt(lambda: bool(parse_environment(text) or 1))])
    if found.refusal is not None:
        return
    if "files" in record:
        files = attempt(lambda: _files(path, lambda bundle: bundle.registry(parse_environment(text), path, text)))
        yield judge.verdict("env: files", name, record, _read("files", record), [files])
    for field in ("parameters", "parameter_defaults", "resource_registry"):
        if field in record:
            seen = _registry(found.value[field]) if field == "resource_registry" else sorted(found.value[field])
            wanted = sorted(record[field]) if field != "resource_registry" else _registry(record[field])
            yield judge.verdict(f"env: {field}", name, record, wanted, [attempt(lambda seen=seen: seen)])  # type: ignore[misc]


def _registry(raw: Mapping[str, Any]) -> Any:
    found = dict(raw)
    if not found.get("resources", True):
        del found["resources"]  # which stands in every answer, and in few files
    return json.loads(json.dumps(found))
