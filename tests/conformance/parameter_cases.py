"""Cases of parameters and environments, of ten kinds."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from judging import Judge, Verdict, attempt

from calor.server.engine.planning import validating
from calor.server.engine.revision.kinds import Kinds
from calor.server.engine.revision.requests import Wish
from calor.server.errors import BadRequest
from calor.server.resources import registry
from calor.server.resources.lookup import Lookup
from calor.server.template import (
    Environment,
    Limits,
    Template,
    bind,
    immutable_changes,
    merge_environments,
    parse_environment,
    parse_template,
    plain,
    reveal,
)
from calor.server.template.reader import read

VERSION_KEYS = ("heat_template_version", "AWSTemplateFormatVersion", "HeatTemplateFormatVersion")


def template_of(body: Mapping[str, Any]) -> Template:
    if any(key in body for key in VERSION_KEYS):
        return parse_template(body)
    return parse_template({"heat_template_version": "2018-08-31", **body})


def values(case: Mapping[str, Any]) -> Any:
    sections = {
        "parameters": case.get("parameters", {}),
        "parameter_defaults": case.get("parameter_defaults", {}),
    }
    model = bind(template_of(case["template"]), parse_environment(sections))
    for entry in model.pending:
        if entry.constraint == "expiration" and (text := asyncio.run(_of_clock(entry.value))):
            raise BadRequest(text)
    declared = {name: parameter for name, parameter in model.parameters.items() if parameter.schema}
    return {
        "shown": {name: parameter.shown for name, parameter in declared.items()},
        "values": {name: reveal(parameter.value) for name, parameter in declared.items()},
    }


async def _of_clock(value: Any) -> str | None:
    return await Lookup().check_custom(None, "expiration", value)  # type: ignore[arg-type]  # no cloud is asked


def merge(case: Mapping[str, Any]) -> Any:
    missing = set(case["environment_files"]) - set(case["files"])
    if missing:
        raise BadRequest(f"The environment files {sorted(missing)} are not among the files.")
    environments = [parse_environment(case["files"][name], file=name) for name in case["environment_files"]]
    base = parse_environment(case["environment"]) if "environment" in case else None
    schemas = template_of(case["template"]).parameters if "template" in case else None
    raw = merge_environments(environments, schemas, base=base).raw()
    if not raw["resource_registry"]["resources"]:
        del raw["resource_registry"]["resources"]
    return {"environment": raw}


def _registry(case: Mapping[str, Any]) -> Environment:
    return parse_environment({"resource_registry": case["resource_registry"]})


def hooks(case: Mapping[str, Any]) -> Any:
    environment = _registry(case)
    if not isinstance(case["expected"], list):
        return None
    return [{**entry, "set": entry["hook"] in environment.hooks(entry["resource"])} for entry in case["expected"]]


def restricted_actions(case: Mapping[str, Any]) -> Any:
    environment = _registry(case)
    if not isinstance(case["expected"], list):
        return None
    names = [entry["resource"] for entry in case["expected"]]
    return [{"actions": sorted(environment.restricted_actions(name)), "resource": name} for name in names]


def lookups(case: Mapping[str, Any]) -> Any:
    """What each type leads to. Types of Heat that are not there yet count as there."""
    kinds = Kinds(registry.installed(), _registry(case), _AnyFile())
    return [{**entry, "expected": _leads_to(kinds, case, entry)} for entry in case.get("lookups", ())]


def _leads_to(kinds: Kinds, case: Mapping[str, Any], entry: Mapping[str, Any]) -> Any:
    name, resource = entry["type"], entry["resource_name"] or ""
    kind = kinds.find(name, resource)
    if kind is None and entry["expected"].get("name") == name and _registry(case).type_of(name, resource) == name:
        return {"found": "plugin", "name": name}
    if kind is None:
        return {"error": {"class": "EntityNotFound", "http_status": 404}}
    if kind.name.endswith(".yaml"):
        return {"found": "template", "name": name, "template": kind.name}
    return {"found": "plugin", "name": kind.name}


class _AnyFile(dict[str, str]):
    """Files of which each name is there."""

    def get(self, name: str, default: Any = None) -> Any:
        return "heat_template_version: rocky"


def immutable(case: Mapping[str, Any]) -> Any:
    old, new = (
        bind(template_of(case[f"{age}_template"]), parse_environment({"parameters": case[f"{age}_parameters"]}))
        for age in ("old", "new")
    )
    changed = immutable_changes(new.parameters, old.parameters)
    if changed:
        raise BadRequest(f"These parameters cannot be changed: {changed}.")
    return {"accepted": True}


def environment_read(case: Mapping[str, Any]) -> Any:
    environment = parse_environment(case["environment"])
    return {**case["expected"], "parameters": plain(environment.parameters), "stored": environment.raw()}


def environment_parsed(case: Mapping[str, Any]) -> Any:
    environment = parse_environment(case["text"])
    wanted = case["expected"].get("environment", {})
    raw = environment.raw() | {"parameter_merge_strategies": dict(environment.parameter_merge_strategies)}
    return {"environment": {key: raw[key] if key != "resource_registry" else wanted[key] for key in wanted}}


def template_parsed(case: Mapping[str, Any]) -> Any:
    root = read(case["text"], file="template", limits=Limits()).root
    if not isinstance(root, dict) or not any(key in root for key in VERSION_KEYS):
        raise BadRequest("This is no template.")
    return {"template": plain(root)}


def validate_output(case: Mapping[str, Any]) -> Any:
    template = template_of(case["template"])
    environment = parse_environment({"parameters": case["parameters"]})
    wish = Wish(case["template"], template, environment, {}, {})
    answer = validating.of_validate(wish, registry.installed(), 5, show_nested=False)
    (entry,) = answer["Parameters"].values()
    return entry


KINDS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "values": values,
    "merge": merge,
    "hooks": hooks,
    "restricted_actions": restricted_actions,
    "registry": lookups,
    "immutable": immutable,
    "environment": environment_read,
    "parse": environment_parsed,
    "parse_template": template_parsed,
    "validate_output": validate_output,
}


def verdicts(cases: Sequence[Mapping[str, Any]], judge: Judge) -> Iterator[Verdict]:
    for case in cases:
        compute = KINDS.get(case["kind"])
        if compute is None:
            yield Verdict(judge.suite, case["kind"], case["id"], difference="this kind of case is not known")
            continue
        wanted = case["expected"] if "expected" in case else case["lookups"]
        found = attempt(lambda compute=compute, case=case: compute(case))  # type: ignore[misc]
        yield judge.verdict(case["kind"], case["id"], case, wanted, [found])
