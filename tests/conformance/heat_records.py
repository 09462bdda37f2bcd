"""Run by the Python that has `openstack-heat`, not by ours: the record of ``corpus/expected.json`` for one template.

A record says of each stage ``ok`` or its error, and what the stages gave; corpus/README.md has the fields. Without a
cloud: which services are there, what lies in them and what has which id is not asked."""

import contextlib
import copy
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import inside_heat
from heat.common import template_format
from heat.engine import constraints, environment, function, resource, resources, stack, stk_defn, template, translation
from heatclient.common import template_utils
from keystoneauth1.exceptions import ConnectFailure

MADE_UP = {"string": "x", "number": "1", "commadelimitedlist": "a,b", "json": "{}", "boolean": "true"}
"""For each type of a parameter, as both languages write it but for its capitals and underscores."""


class Stopped(Exception):
    """A stage after which there is nothing more to say."""


def ask_no_cloud() -> None:
    resource.Resource.is_service_available = classmethod(lambda cls, context: (True, None))
    constraints.CustomConstraint._is_valid = lambda self, *_args: self.custom_constraint is not None
    for kind in (stack.Stack, stk_defn.StackDefinition):
        kind.get_availability_zones = lambda _self: inside_heat.ZONES
    translation.resolve_and_find = lambda value, *_args, **_more: function.resolve(value)


class Recorder:
    """``case``: the template's ``text``, its ``folder`` and the ``root`` of the corpus, ``inputs`` that are known."""

    def __init__(self, case: Any) -> None:
        self.case = case
        self.stages: dict[str, Any] = {}
        self.record: dict[str, Any] = {"kind": case["kind"], "stages": self.stages}

    def made(self) -> dict[str, Any]:
        with contextlib.suppress(Stopped):
            self.fill()
        return self.record

    def fill(self) -> None:
        parsed = self.needed("parse", lambda: template_format.parse(self.case["text"]))
        parsed, files = self.stage("files", lambda: self.files(parsed)) or (parsed, {})
        made = self.needed("template", lambda: self.template(parsed, files))
        self.record["template_class"] = type(made).__name__
        schemata = self.stage("parameters", lambda: made.param_schemata())
        self.check(parsed, files)
        if schemata is None:
            raise Stopped
        self.record["parameters"] = {name: shown(schema) for name, schema in schemata.items()}
        if groups := made.get("parameter_groups"):
            self.record["parameter_groups"] = groups
        self.compute(parsed, files, {name: one for name, one in schemata.items() if one.default is None})

    def stage(self, name: str, compute: Callable[[], Any]) -> Any:
        """What it gives; None with its error in the record."""
        try:
            found = compute()
        except Exception as error:  # whatever Heat raises is its answer
            self.stages[name] = {"class": type(error).__name__, "message": str(error)[:300]}
            return None
        self.stages[name] = "ok"
        return found

    def needed(self, name: str, compute: Callable[[], Any]) -> Any:
        found = self.stage(name, compute)
        if self.stages[name] != "ok":
            raise Stopped
        return found

    def files(self, parsed: Any) -> tuple[Any, dict[str, str]]:
        """The template with the files' addresses, as a client sends it, and the files."""
        files: dict[str, str] = {}
        parsed = copy.deepcopy(parsed)
        template_utils.resolve_template_get_files(parsed, files, Path(self.case["folder"]).as_uri())
        if files:
            self.record["files"] = sorted(map(self.local, files))
        return parsed, files

    def template(self, parsed: Any, files: Any, settings: Any = None) -> Any:
        return template.Template(parsed, files=files, env=environment.Environment(settings or {}))

    def check(self, parsed: Any, files: Any) -> None:
        self.stage("validate", lambda: self.validated(parsed, files, {}))
        body = parsed.get("resources", parsed.get("Resources"))
        types = {str(one.get("type", one.get("Type"))) for one in dicts(body)}
        if unknown := sorted(name for name in types if not is_known(name, files)):
            self.record["unknown_types"] = [self.local(name) for name in unknown]
            registry = {name: "OS::Heat::None" for name in unknown}
            self.stage(
                "validate_with_none_for_unknown",
                lambda: self.validated(parsed, files, {"resource_registry": registry}),
            )

    def validated(self, parsed: Any, files: Any, settings: Any) -> None:
        """As `template validate` does, with nothing given."""
        made = inside_heat.stack_of(parsed, environment.Environment(settings), files, strict_validate=False)
        made.t.validate()
        made.validate(validate_res_tmpl_only=True)

    def compute(self, parsed: Any, files: Any, open_ones: Any) -> None:
        known = self.case.get("inputs", {})
        inputs = {name: known.get(name, made_up(schema)) for name, schema in open_ones.items()}
        if inputs:
            self.record["inputs_used"] = inputs
        unknown = {name: "OS::Heat::None" for name in self.record.get("unknown_types", ())}
        settings = environment.Environment({"parameters": inputs, "resource_registry": unknown})
        stack = self.stage("stack", lambda: inside_heat.stack_of(parsed, settings, files))
        if stack is None:
            raise Stopped
        del self.stages["stack"]  # which a record has where it failed
        self.stage("conditions", lambda: self.conditions(stack))
        self.stage("resources", lambda: self.resources(stack))
        self.stage("dependencies", lambda: self.edges(stack))
        self.stage("values", lambda: self.values(stack))
        if (outputs := self.stage("outputs", lambda: stack.t.outputs(stack))) is not None:
            self.record["outputs"] = list(outputs)

    def conditions(self, stack: Any) -> None:
        made = stack.t.conditions(stack)
        found = {}
        for name in made._conditions:
            try:
                found[name] = made.is_enabled(name)
            except Exception as error:  # whatever Heat raises is its answer
                found[name] = {"class": type(error).__name__, "message": str(error)[:300]}
        if found:
            self.record["conditions"] = found

    def resources(self, stack: Any) -> None:
        enabled = stack.t.resource_definitions(stack)
        body = stack.t.get(stack.t.RESOURCES) or {}
        found = {}
        for name, written in body.items():
            entry = {"type": self.local(str(written.get("type", written.get("Type"))))}
            if name in enabled:
                definition = enabled[name]
                entry["requires"] = sorted(set(definition.required_resource_names()))
                if definition.deletion_policy() != definition.DELETE:
                    entry["deletion_policy"] = definition.deletion_policy()
            else:
                entry["enabled"] = False
            found[name] = entry
        self.record["resources"] = found

    def edges(self, stack: Any) -> None:
        edges = sorted([one.name, need.name] for one, needs in stack.dependencies.graph().items() for need in needs)
        wanted = {
            (name, need)
            for name, entry in self.record.get("resources", {}).items()
            for need in entry.get("requires", ())
        }
        self.record["edges"] = edges
        if added := [edge for edge in edges if tuple(edge) not in wanted]:
            self.record["edges_added_by_resource_plugins"] = added

    def values(self, stack: Any) -> None:
        """What nobody evaluates before a resource is made or an output is shown, as far as it needs no cloud."""
        stack.parameters.validate(context=stack.context)
        waiting: list[Callable[[], Any]] = [output.get_value for output in stack.t.outputs(stack).values()]
        for definition in stack.t.resource_definitions(stack).values():
            waiting += [functools.partial(function.resolve, definition._properties), definition.metadata]
        for compute in waiting:
            with contextlib.suppress(ConnectFailure):
                compute()

    def local(self, name: str) -> str:
        return name.replace(Path(self.case["root"]).as_uri() + "/", "corpus:")


def dicts(section: Any) -> list[Any]:
    return [one for one in section.values() if isinstance(one, dict)] if isinstance(section, dict) else []


def is_known(name: str, files: Any) -> bool:
    if name in files:
        return True
    try:
        resources.global_env().get_class(name)
    except Exception:
        return False
    return True


def made_up(schema: Any) -> Any:
    """A value that the constraints of a parameter allow, where an easy one does."""
    candidates = [MADE_UP[schema.type.lower().replace("_", "")]]
    for rule in schema.constraints or ():
        if isinstance(rule, constraints.AllowedValues):
            candidates.insert(0, rule.allowed[0] if rule.allowed else "x")
        if isinstance(rule, constraints.Range):
            candidates += [bound for bound in (rule.min, rule.max) if bound is not None]
        if isinstance(rule, constraints.Length):
            candidates += ["x" * length for length in (rule.min, rule.max) if length is not None and int(length) < 1000]
    candidates += ["abc", "Abc12345", "12345678"]
    for value in candidates:
        try:
            schema.validate_value(value, None)
        except Exception:
            continue
        return value
    return candidates[0]


def shown(schema: Any) -> dict[str, Any]:
    found = {"type": schema.type}
    if schema.default is not None:
        found["default"] = schema.default
    if schema.label is not None:
        found["label"] = schema.label
    for word in ("hidden", "immutable"):
        if getattr(schema, word):
            found[word] = True
    if schema.tags:
        found["tags"] = schema.tags
    rules = [rule_shown(rule) for rule in schema.constraints or ()]
    return {**found, "constraints": rules} if rules else found


def rule_shown(rule: Any) -> dict[str, Any]:
    names = {
        "Range": ("min", "max"),
        "Length": ("min", "max"),
        "Modulo": ("step", "offset"),
        "AllowedValues": ("allowed",),
        "AllowedPattern": ("pattern",),
        "CustomConstraint": ("name",),
    }
    kind = type(rule).__name__
    found = {"type": kind, **{name: getattr(rule, name) for name in names[kind] if getattr(rule, name) is not None}}
    return {**found, "description": rule.description} if rule.description not in (None, "") else found
