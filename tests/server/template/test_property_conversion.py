"""Property values: what the reference cases do not have."""

from calor.server.template import UNKNOWN, Secret, convert, parse_template
from calor.server.template.properties import AllowedValues, Custom, Kind, Length, PropertySchema, Range
from calor.server.template.values import Plain

PORT = PropertySchema(kind=Kind.MAP, schema={"port": PropertySchema(kind=Kind.INTEGER, constraints=(Range(1, 65535),))})
SCHEMAS = {
    "name": PropertySchema(kind=Kind.STRING, required=True, constraints=(Length(1, 5),)),
    "image": PropertySchema(kind=Kind.STRING, constraints=(Custom("glance.image"),)),
    "mac": PropertySchema(kind=Kind.STRING, constraints=(Custom("mac_addr"),)),
    "mode": PropertySchema(kind=Kind.STRING, default="a", constraints=(AllowedValues("a", "b"),)),
    "ports": PropertySchema(kind=Kind.LIST, schema={"*": PORT}),
}


def messages(**values: object) -> list[str]:
    return [f"{problem.path}: {problem.message}" for problem in convert(SCHEMAS, values, path=("r",)).problems]


def test_all_faults_of_all_properties_come_at_once_with_their_paths() -> None:
    found = messages(nam="x", mac="zz", mode="c", ports=[{"port": 1}, {"port": 99999, "prt": 2}])
    assert [message.split(":")[0] for message in found] == [
        "r.nam",  # and not that "name" is missing
        "r.mac",
        "r.mode",
        "r.ports[1].prt",
        "r.ports[1].port",
    ]
    assert "did you mean 'name'?" in found[0]
    assert "did you mean 'port'?" in found[3]


def test_a_fault_is_placed_at_the_value_in_the_text() -> None:
    text = "heat_template_version: 2018-08-31\nresources:\n  r:\n    type: T\n    properties: {name: toolonganame}\n"
    source = parse_template(text, file="f.yaml").source
    path = ("resources", "r", "properties")
    (problem,) = convert(SCHEMAS, {"name": "toolonganame"}, path=path, source=source).problems
    assert (problem.file, problem.line, problem.column) == ("f.yaml", 5, 24)


def test_the_unknown_passes_every_check() -> None:
    found = convert(SCHEMAS, {"name": UNKNOWN, "ports": [{"port": UNKNOWN}], "image": UNKNOWN})
    assert found.problems == ()
    assert found.pending == ()
    assert found.values["ports"] == [{"port": UNKNOWN}]


def test_constraints_of_the_cloud_come_back_as_pending() -> None:
    (pending,) = convert(SCHEMAS, {"name": "n", "image": "cirros"}, path=("p",)).pending
    assert (pending.constraint, pending.value, pending.path) == ("glance.image", "cirros", ("p", "image"))


def test_a_secret_is_checked_kept_and_not_told() -> None:
    found = convert(SCHEMAS, {"name": Secret("abc")})
    assert found.values["name"] == Secret("abc")
    (problem,) = convert(SCHEMAS, {"name": Secret("s3cretlong")}).problems
    assert "s3cret" not in problem.message


def test_a_scalar_is_what_its_property_wants() -> None:
    schemas = {kind.value: PropertySchema(kind=kind) for kind in (Kind.STRING, Kind.INTEGER, Kind.NUMBER, Kind.ANY)}
    values = convert(schemas, dict.fromkeys(schemas, Plain("010", 8))).values
    assert values == {"string": "010", "integer": 8, "number": 8, "any": 8}


def test_a_fraction_for_text_that_lost_its_source_is_refused_with_the_remedy() -> None:
    (problem,) = convert({"p": PropertySchema(kind=Kind.STRING)}, {"p": 1.1}).problems
    assert "quotes" in problem.message
