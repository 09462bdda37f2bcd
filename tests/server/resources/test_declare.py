"""A properties dataclass is a schema, and plain values become an instance of it and back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calor.server.resources.declare import (
    CONVERTIBLE,
    IMMUTABLE,
    NOT_IMPLEMENTED,
    UPDATABLE,
    Alias,
    Deprecated,
    Describe,
    Hidden,
    Since,
    construct,
    plain,
    schema_of,
)
from calor.server.resources.moved import translate
from calor.server.resources.registry import BUILT_INS
from calor.server.template.properties import AllowedValues, Kind, Length, Support


@dataclass(frozen=True, kw_only=True)
class Inner:
    size: int = 1
    class_: Annotated[str | None, Alias("class"), AllowedValues("a", "b")] = None


@dataclass(frozen=True, kw_only=True)
class Outer:
    name: Annotated[str, Length(1, 9), IMMUTABLE, Describe("Its name.")]
    inner: Annotated[Inner | None, UPDATABLE] = None
    many: tuple[Inner, ...] = (Inner(),)
    loose: Annotated[tuple[Any, ...] | None, Since("5.0.0")] = None
    more: Mapping[str, Any] = field(default_factory=dict)
    old: Annotated[bool, Hidden("6.0.0"), NOT_IMPLEMENTED] = False
    older: Annotated[float | None, Deprecated("4.0.0", "Use many."), CONVERTIBLE] = None


def test_a_dataclass_declares_a_schema() -> None:
    schema = schema_of(Outer)
    assert [schema[name].kind for name in schema] == [
        Kind.STRING,
        Kind.MAP,
        Kind.LIST,
        Kind.LIST,
        Kind.MAP,
        Kind.BOOLEAN,
        Kind.NUMBER,
    ]
    name = schema["name"]
    assert (name.required, name.immutable, name.description, name.constraints) == (
        True,
        True,
        "Its name.",
        (Length(1, 9),),
    )
    assert schema["inner"].update_allowed and not schema["inner"].required
    assert schema["inner"].schema is not None and list(schema["inner"].schema) == ["size", "class"]
    assert schema["many"].default == [{"size": 1}]
    assert schema["loose"].schema is None and schema["loose"].support == Support(since="5.0.0")
    assert schema["more"].default == {}
    assert schema["old"].support.status == "HIDDEN" and not schema["old"].implemented
    assert schema["older"].allow_conversion and schema["older"].support.message == "Use many."


def test_plain_values_become_typed_at_every_depth() -> None:
    built = construct(Outer, {"name": "n", "inner": {"size": 3, "class": "b"}, "many": [{}, {"size": 2}], "gone": 1})
    assert built.inner == Inner(size=3, class_="b")
    assert built.many == (Inner(), Inner(size=2))


def test_absent_and_null_mean_the_default_and_a_required_one_that_is_missing_is_none() -> None:
    built = construct(Outer, {"inner": None, "many": None})
    assert (built.name, built.inner, built.many) == (None, None, (Inner(),))


@given(st.builds(Inner, size=st.integers(), class_=st.none() | st.sampled_from("ab")))
def test_what_is_made_plain_is_the_same_when_it_is_built_again(inner: Inner) -> None:
    outer = Outer(name="n", inner=inner, many=(inner, inner), loose=(1, "x"))
    assert construct(Outer, plain(outer)) == outer


def test_a_kind_that_is_none_is_a_mistake_of_the_declaration() -> None:
    @dataclass(frozen=True)
    class Wrong:
        when: set[str]

    with pytest.raises(TypeError, match="no kind of property"):
        schema_of(Wrong)


@pytest.mark.parametrize("kind", BUILT_INS, ids=lambda kind: kind.name)
def test_every_type_can_be_built_from_nothing(kind: Any) -> None:
    """Rows of before may lack anything: reading them must not fail."""
    assert construct(kind.props, {}) is not None


def test_old_names_move_where_the_map_is_plain() -> None:
    moved = {"network_id": "network", "fixed_ips.subnet_id": "fixed_ips.subnet"}
    old = {"network_id": "n", "fixed_ips": [{"subnet_id": "s"}, {"subnet": "t", "subnet_id": "s"}, "text"]}
    assert translate(old, moved) == {"network": "n", "fixed_ips": [{"subnet": "s"}, {"subnet": "t"}, "text"]}
    assert translate({"network": "new", "network_id": "old"}, moved) == {"network": "new"}
    node = object()
    assert translate({"fixed_ips": node}, moved) == {"fixed_ips": node}
