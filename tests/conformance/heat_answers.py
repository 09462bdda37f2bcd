"""Run by the Python that has `openstack-heat`, not by ours: what Heat's own code makes of cases.

`python heat_answers.py CASES ANSWERED` adds the answers to a file of the shape of ``reference/*-cases.json``; the
folder ``benchmarks`` must be on the path."""

import json
import signal
import sys
from pathlib import Path
from typing import Any, ClassVar

import heat_records
import inside_heat
from heat.api.middleware.fault import FaultWrapper
from heat.common import environment_format, environment_util, template_format
from heat.engine import api, attributes, constraints, environment, properties, resource, resources, template
from oslo_serialization import jsonutils

SECONDS = 10
"""That one case may take; one that takes longer gets no answer."""


class Late(BaseException):
    pass


class Fake(resource.Resource):
    """A resource with the attributes of a case; the class is made anew for each."""

    properties_schema: ClassVar[Any] = {}
    attributes_schema: ClassVar[Any] = {}
    fact: ClassVar[Any] = {"attributes": {}, "reference_id": None}

    @classmethod
    def is_service_available(cls, context: Any) -> Any:
        return True, None

    def get_reference_id(self) -> Any:
        return self.name if self.action == self.INIT else self.fact["reference_id"]

    def _resolve_any_attribute(self, attr: str) -> Any:
        return self.fact["attributes"].get(attr)


def any_type(loose: bool) -> Any:
    """A type of the cases of dependencies: any value for ``x``, the attributes a, m and l."""
    facts = {
        "properties_schema": {
            "x": properties.Schema(properties.Schema.ANY),
            "y": properties.Schema(properties.Schema.ANY),
        },
        "attributes_schema": {name: attributes.Schema(name) for name in "aml"},
        "strict_dependency": not loose,
    }
    return type("Any", (Fake,), facts)


class Parent:
    """The resource that a template implements, as `resource_facade` asks it."""

    def __init__(self, facts: Any) -> None:
        self.t = self
        self._update_policy = facts.get("update_policy", {})
        self._deletion_policy = facts.get("deletion_policy", "Delete")
        self._metadata = facts.get("metadata", {})

    def metadata_get(self) -> Any:
        return self._metadata

    def update_policy(self) -> Any:
        return self._update_policy

    def deletion_policy(self) -> Any:
        return self._deletion_policy


def of_function(case: Any) -> Any:
    sections = {"parameters": case.get("params", {}), "parameter_defaults": case.get("parameter_defaults", {})}
    fakes = case.get("fakes", {})
    for name, fact in fakes.items():
        schema = {attribute: attributes.Schema("") for attribute in fact["attributes"]}
        kind = type("Fake", (Fake,), {"fact": fact, "attributes_schema": schema})
        resources.global_env().registry.register_class(f"Test::{name}", kind)
    made = inside_heat.stack_of(case["template"], environment.Environment(sections), case.get("files"))
    if case.get("parent_resource") is not None:
        made.defn._parent_info = Parent(case["parent_resource"])
    made.validate()
    for name, fact in fakes.items():
        if name in made:
            made[name].action, _, made[name].status = fact["state"].partition("_")
            made[name].resource_id = f"physical-{name}"
    made._update_all_resource_data(for_resources=True, for_outputs=True)
    return {"value": made.outputs["o"].get_value() if "o" in made.outputs else None}


def of_dependency(case: Any) -> Any:
    settings = environment.Environment({"parameters": case.get("parameters") or case.get("params") or {}})
    made = inside_heat.stack_of(case["template"], settings, case.get("files"))
    made.t.validate()
    graph = made.dependencies.graph()
    needs = {one.name: sorted(other.name for other in graph[one]) for one in graph}
    level: dict[str, int] = {}
    for one in made.dependencies:
        level[one.name] = max((level[need] + 1 for need in needs[one.name]), default=0)
    return {
        "edges": sorted([name, need] for name, found in needs.items() for need in found),
        "creation_levels": [
            sorted(n for n in level if level[n] == step) for step in range(max(level.values(), default=-1) + 1)
        ],
        "required_by": {name: sorted(other for other, found in needs.items() if name in found) for name in needs},
        "resources": sorted(needs),
    }


def of_property(case: Any) -> Any:
    schemas = {name: schema_of(entry) for name, entry in case["schema"].items()}
    for schema in schemas.values():
        schema.validate()
    found = properties.Properties(schemas, case["properties"])
    found.validate()
    return {
        "values": {name: found[name] for name in schemas if schemas[name].implemented or name in case["properties"]}
    }


def schema_of(entry: Any) -> Any:
    inner = entry.get("schema")
    return properties.Schema(
        getattr(properties.Schema, entry["type"].upper()),
        required=entry.get("required", False),
        default=entry.get("default"),
        implemented=entry.get("implemented", True),
        immutable=entry.get("immutable", False),
        update_allowed=entry.get("update_allowed", False),
        allow_conversion=entry.get("allow_conversion", False),
        constraints=[constraint_of(rule) for rule in entry.get("constraints", ())],
        schema=(
            schema_of(inner["*"]) if list(inner) == ["*"] else {name: schema_of(one) for name, one in inner.items()}
        )
        if inner
        else None,
    )


def constraint_of(entry: Any) -> Any:
    match entry["kind"]:
        case "range":
            return constraints.Range(entry.get("min"), entry.get("max"))
        case "length":
            return constraints.Length(entry.get("min"), entry.get("max"))
        case "modulo":
            return constraints.Modulo(entry["step"], entry["offset"])
        case "allowed_values":
            return constraints.AllowedValues(entry["values"])
        case _:
            return constraints.AllowedPattern(entry["pattern"])


def template_of(body: Any) -> Any:
    is_whole = any(
        key in body for key in ("heat_template_version", "AWSTemplateFormatVersion", "HeatTemplateFormatVersion")
    )
    return body if is_whole else {"heat_template_version": "2018-08-31", **body}


def of_values(case: Any) -> Any:
    sections = {name: case.get(name, {}) for name in ("parameters", "parameter_defaults")}
    made = inside_heat.stack_of(template_of(case["template"]), environment.Environment(sections))
    made.validate()
    names = made.t.param_schemata()
    shown = made.parameters.map(str)
    return {"shown": {name: shown[name] for name in names}, "values": {name: made.parameters[name] for name in names}}


def of_merge(case: Any) -> Any:
    merged = case.get("environment", {})
    environment_format.default_for_missing(merged)
    schemas = template.Template(template_of(case["template"])).all_param_schemata({}) if "template" in case else {}
    environment_util.merge_environments(case["environment_files"], case["files"], merged, schemas)
    return {"environment": merged}


def of_validate_output(case: Any) -> Any:
    settings = environment.Environment({"parameters": case["parameters"]})
    made = inside_heat.stack_of(template_of(case["template"]), settings, strict_validate=False)
    made.validate(validate_res_tmpl_only=True)
    (shown,) = (one for name, one in made.parameters.params.items() if "::" not in name)
    return api.format_validate_parameter(shown)


KINDS: Any = {
    "values": of_values,
    "merge": of_merge,
    "parse": lambda case: {"environment": environment_format.parse(case["text"])},
    "parse_template": lambda case: {"template": template_format.parse(case["text"])},
    "validate_output": of_validate_output,
}


def answer(case: Any) -> Any:
    """What Heat gives; an error with the class and the status that its API would answer."""
    if "function" in case:
        compute = of_function
    elif "kind" in case:
        compute = KINDS[case["kind"]]
    else:
        compute = of_property if "schema" in case else of_dependency
    signal.alarm(SECONDS)
    try:
        return json.loads(jsonutils.dumps(compute(json.loads(json.dumps(case)))))
    except Exception as error:  # whatever Heat raises is its answer
        status = next(
            (
                FaultWrapper.error_map[one.__name__].code
                for one in type(error).__mro__
                if one.__name__ in FaultWrapper.error_map
            ),
            500,
        )
        return {"error": {"class": type(error).__name__, "http_status": status, "text": str(error)[:300]}}
    finally:
        signal.alarm(0)


def recorded(case: Any) -> Any:
    """The record of a changed template."""
    origin = Path(case["corpus"], case["origin"])
    signal.alarm(SECONDS)
    try:
        record = heat_records.Recorder({**case, "folder": str(origin.parent), "root": case["corpus"]}).made()
    finally:
        signal.alarm(0)
    return json.loads(jsonutils.dumps({**record, **{name: case[name] for name in ("origin", "text", "changes")}}))


def late(number: int, frame: Any) -> None:
    raise Late


def main() -> None:
    asked = json.loads(Path(sys.argv[1]).read_text())
    inside_heat.set_up()
    for name, loose in (("Any", False), ("Loose", True)):
        resources.global_env().registry.register_class(f"Test::{name}", any_type(loose))
    if any("origin" in case for case in asked["cases"]):
        heat_records.ask_no_cloud()
    signal.signal(signal.SIGALRM, late)
    answered: dict[str, Any] = {"cases": [], "templates": {}}
    for case in asked["cases"]:
        try:
            if "origin" in case:
                answered["templates"][case["id"]] = recorded({**case, "corpus": asked["corpus"]})
            else:
                answered["cases"].append({**case, "expected": answer(case)})
        except Late:
            print(f"{case['id']}: no answer within {SECONDS} s", file=sys.stderr)
    found = {name: entries for name, entries in answered.items() if entries}
    Path(sys.argv[2]).write_text(json.dumps({"corpus": asked["corpus"], **found}))


if __name__ == "__main__":
    main()
