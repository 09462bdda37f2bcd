"""Every type says what Heat's says (reference/resource-types.json); what differs is listed here with its reason."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from calor.server.resources.base import ResourceType
from calor.server.resources.declare import attributes_of, schema_of
from calor.server.resources.registry import BUILT_INS, Types
from calor.server.template.properties import (
    AllowedValues,
    AttributeSchema,
    Custom,
    Length,
    Modulo,
    Pattern,
    PropertySchema,
    Range,
    Support,
)

FACTS = Path(__file__).resolve().parents[4] / "shared" / "reference" / "resource-types.json"
if not FACTS.exists():
    pytest.skip("the reference facts are not beside the checkout", allow_module_level=True)
REFERENCE = json.loads(FACTS.read_text())["resource_types"]

DIFFERENCES: Mapping[tuple[str, str], str] = {
    ("OS::Nova::Server", "supports.snapshot"): "snapshots of stacks are not built yet",
    ("OS::Cinder::Volume", "supports.snapshot"): "snapshots of stacks are not built yet",
    ("OS::Heat::Stack", "supports.snapshot"): "snapshots of stacks are not built yet",
    ("OS::Heat::Stack", "nested"): "a child in our own tree, where Heat makes a stack through its API",
}
"""(type, what differs) → why."""


def constraint(value: Any) -> dict[str, Any]:
    match value:
        case Length(low, high):
            return {"kind": "length", "min": low, "max": high}
        case Range(low, high):
            return {"kind": "range", "min": low, "max": high}
        case Modulo(step, offset):
            return {"kind": "modulo", "step": step, "offset": offset}
        case AllowedValues():
            return {"kind": "allowed_values", "values": list(value.values)}
        case Pattern(regex):
            return {"kind": "allowed_pattern", "pattern": regex}
        case Custom(name):
            return {"kind": "custom", "name": name}
    raise AssertionError(value)


def support(value: Support) -> dict[str, Any]:
    if value.status == "SUPPORTED" and value.since is None:
        return {}
    return {"support": {"status": value.status, "since": value.since}}


def property_json(schema: PropertySchema) -> dict[str, Any]:
    found: dict[str, Any] = {"type": schema.kind.value, **support(schema.support)}
    if schema.constraints:
        found["constraints"] = [constraint(one) for one in schema.constraints]
    if schema.schema is not None:
        found["schema"] = {name: property_json(one) for name, one in schema.schema.items()}
    for key, value in (
        ("required", schema.required),
        ("update_allowed", schema.update_allowed),
        ("immutable", schema.immutable),
        ("allow_conversion", schema.allow_conversion),
    ):
        if value:
            found[key] = True
    if schema.default is not None:
        found["default"] = schema.default
    if not schema.implemented:
        found["implemented"] = False
    return found


def attribute_json(schema: AttributeSchema) -> dict[str, Any]:
    found = {"type": None if schema.kind is None else schema.kind.value, **support(schema.support)}
    return found if schema.cached else {**found, "cached": False}


def without_history(value: Any) -> Any:
    """Heat lists former statuses; we keep the present one. Its own blank in a release is not kept."""
    if isinstance(value, list):
        return [without_history(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) >= {"status", "since"}:
        return {"status": value["status"], "since": value["since"] and value["since"].strip()}
    cleaned = {key: without_history(item) for key, item in value.items()}
    if cleaned.get("support") == {"status": "SUPPORTED", "since": None}:
        del cleaned["support"]
    return cleaned


@pytest.fixture(params=BUILT_INS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> type[ResourceType[Any]]:
    return request.param  # type: ignore[no-any-return]


def test_the_properties_of_a_type_are_heats(kind: type[ResourceType[Any]]) -> None:
    ours = {name: property_json(schema) for name, schema in schema_of(kind.props).items()}
    assert ours == without_history(REFERENCE[kind.name]["properties"])


def test_the_attributes_of_a_type_are_heats(kind: type[ResourceType[Any]]) -> None:
    ours = {name: attribute_json(schema) for name, schema in attributes_of(kind).items()}
    assert ours == without_history(REFERENCE[kind.name]["attributes"])


def test_the_update_policy_of_a_type_is_heats(kind: type[ResourceType[Any]]) -> None:
    ours = {name: property_json(schema) for name, schema in kind.update_policy.items()}
    assert ours == without_history(REFERENCE[kind.name].get("update_policy", {}))


def test_support_deletion_policies_and_abilities_of_a_type_are_heats(kind: type[ResourceType[Any]]) -> None:
    theirs = REFERENCE[kind.name]
    assert (kind.support.status, kind.support.since) == (theirs["support"]["status"], theirs["support"]["since"])
    assert list(kind.deletion_policies) == theirs["deletion_policies"]
    assert kind.physical_name_limit == theirs["physical_resource_name_limit"]
    abilities = {name for name in ("check", "suspend", "resume", "signal", "snapshot") if theirs["supports"][name]}
    missing = {name for name in abilities - kind.supports if (kind.name, f"supports.{name}") not in DIFFERENCES}
    assert not missing
    assert kind.is_nested == theirs["nested_stack"] or (kind.name, "nested") in DIFFERENCES
    needs = (
        theirs["requires_deferred_auth"]
        and "signal" in kind.supports
        and not kind.name.endswith("::WaitConditionHandle")
    )
    assert kind.needs_trust or not needs


def test_a_type_is_found_by_its_name_and_by_its_former_name() -> None:
    types = Types()
    assert types.names() == sorted(kind.name for kind in BUILT_INS)
    port = types.get("OS::Quantum::Port")
    assert port is not None and port.name == "OS::Neutron::Port"
    assert types.get("OS::Nova::Servr") is None


def test_a_third_partys_type_comes_in_by_the_same_door() -> None:
    class Mine(BUILT_INS[0]):  # type: ignore[misc, name-defined]
        name = "My::Own::Type"

    assert "My::Own::Type" in Types((*BUILT_INS, Mine)).names()


def test_old_names_of_properties_are_those_that_heat_translates(kind: type[ResourceType[Any]]) -> None:
    theirs = {}
    for rule in REFERENCE[kind.name].get("translation_rules", ()):
        if rule["rule"] == "replace":
            path = rule["path"]
            old = rule.get("value_path") or [*path[:-1], rule["value_name"]]
            theirs[".".join(old)] = ".".join(path)
    assert dict(kind.moved) == theirs
