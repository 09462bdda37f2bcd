"""Cases of one property schema each, with the data that it converts or refuses."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judging import Judge, Verdict, attempt

from calor.server.errors import BadRequest
from calor.server.template import convert
from calor.server.template.constraints import schema_faults
from calor.server.template.properties import (
    AllowedValues,
    Constraint,
    Custom,
    Kind,
    Length,
    Modulo,
    Pattern,
    PropertySchema,
    Range,
)


def constraint_of(entry: Mapping[str, Any]) -> Constraint:
    match entry["kind"]:
        case "range":
            return Range(entry.get("min"), entry.get("max"))
        case "length":
            return Length(entry.get("min"), entry.get("max"))
        case "modulo":
            return Modulo(entry["step"], entry["offset"])
        case "allowed_values":
            return AllowedValues(*entry["values"])
        case "allowed_pattern":
            return Pattern(entry["pattern"])
        case _:
            return Custom(entry["name"])


def schema_of(entry: Mapping[str, Any]) -> PropertySchema:
    inner = entry.get("schema")
    return PropertySchema(
        kind=Kind(entry["type"]),
        required=entry.get("required", False),
        default=entry.get("default"),
        implemented=entry.get("implemented", True),
        allow_conversion=entry.get("allow_conversion", False),
        immutable=entry.get("immutable", False),
        update_allowed=entry.get("update_allowed", False),
        constraints=tuple(constraint_of(rule) for rule in entry.get("constraints", ())),
        schema={key: schema_of(value) for key, value in inner.items()} if inner else None,
    )


def converted(case: Mapping[str, Any]) -> Any:
    schemas = {key: schema_of(value) for key, value in case["schema"].items()}
    faults = [fault for schema in schemas.values() for fault in schema_faults(schema)]
    if faults:
        raise BadRequest("\n".join(faults))
    found = convert(schemas, case["properties"])
    if found.problems:
        raise BadRequest("\n".join(map(str, found.problems)))
    return {
        "values": {
            key: value for key, value in found.values.items() if schemas[key].implemented or key in case["properties"]
        }
    }


def verdicts(cases: Sequence[Mapping[str, Any]], judge: Judge) -> Iterator[Verdict]:
    for case in cases:
        found = attempt(lambda case=case: converted(case))  # type: ignore[misc]
        yield judge.verdict(case["tag"], case["id"], case, case["expected"], [found])
