"""What a record's stages say: whether Heat accepts a template, for what it refuses it, and what it leaves to later."""

import re
from collections.abc import Mapping
from typing import Any

from calor.server.errors import Problem
from calor.server.resources import registry
from calor.server.template import Model

KNOWN = registry.installed()
NOT_ITS_OWN = ("Could not fetch remote template", "was not provided", "Unrecognized value 'None'")
"""What the record blames on a template that only lacked its files or its parameters."""
STAGES = ("parse", "template", "parameters", "conditions", "resources", "dependencies", "outputs")


LATER = frozenset(
    {
        *("function-arguments", "parameter-value", "parameter-default", "parameter-constraint"),
        *("unknown-resource", "unknown-parameter"),
    }
)
"""Codes of what Heat's validate leaves to the time when a value is needed (``values`` of a record), and we tell."""
ASKED = frozenset({"unknown-property", "unknown-attribute", "deletion-policy", "circular-dependency"})
"""Codes of what Heat's validate looks at in the definitions of resources, without their values."""


def is_accepted(stages: Mapping[str, Any]) -> bool:
    checked = stages.get("validate_with_none_for_unknown", stages.get("validate"))
    return checked == "ok" and all(stages.get(stage) == "ok" for stage in STAGES)


CRASHES = frozenset(
    {"AttributeError", "IndexError", "KeyError", "RecursionError", "TypeError", "UnicodeEncodeError", "AssertionError"}
)
"""Classes of errors that Heat does not mean to raise, and answers with 500."""


def fails_later(record: Mapping[str, Any]) -> bool:
    return record["stages"].get("values", "ok") != "ok" or not all(
        isinstance(value, bool) for value in record.get("conditions", {}).values()
    )


def status(stages: Mapping[str, Any]) -> int:
    """Of the first stage that says why the template is refused."""
    errors = [stages[name] for name in (*STAGES[:3], "validate", *STAGES[3:]) if stages.get(name, "ok") != "ok"]
    return 500 if errors and errors[0]["class"] in CRASHES else 400


OF_A_RESOURCE = re.compile(
    r"(?:resources|Resources)\.([^.:]+)\.(?:properties|Properties|update_policy|UpdatePolicy): Unknown Property"
    r"|The Referenced Attribute \(([^ ]+) "
    r"|(?:resources|Resources)\.([^.:]+)\.(?:deletion_policy|DeletionPolicy): "
)
"""What Heat says of a resource by the rules of its type."""


def is_of_opaque(record: Mapping[str, Any]) -> bool:
    """Whether Heat refuses a template for what a type says that we do not have: such types count as opaque."""
    stages, resources = record["stages"], record.get("resources", {})
    error = stages.get("validate_with_none_for_unknown", stages.get("validate", "ok"))
    said = OF_A_RESOURCE.search(error["message"]) if error != "ok" else None
    name = next(filter(None, said.groups()), "") if said else ""
    return name in resources and KNOWN.get(resources[name]["type"]) is None


def is_asked(problem: Problem, model: Model) -> bool:
    place = next((name for name in model.resources if problem.path.split(".", 1)[-1].startswith(f"{name}.")), "")
    rest = problem.path.split(".", 1)[-1].removeprefix(f"{place}.")
    if rest.startswith(("update_policy", "UpdatePolicy")):
        return True
    if problem.code == "unknown-property":  # of the resource itself, not of a map in its properties
        return bool(place) and rest.partition(".")[2] in map(str, model.resources[place].properties)
    return problem.code in ASKED
