"""Steps: what is done with a resource, and the reason that is given."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from calor.server.plan import Action, Existing, Step, Wanted, diff
from calor.server.template import UNKNOWN, DeletionPolicy, Secret
from calor.server.template.properties import Kind, PropertySchema


class Rules:
    """Two types: everything of T but ``fixed`` and ``once`` may be updated."""

    def schema(self, type_name: str) -> Mapping[str, PropertySchema]:
        return {
            "name": PropertySchema(kind=Kind.STRING, update_allowed=True),
            "size": PropertySchema(kind=Kind.INTEGER, update_allowed=True),
            "fixed": PropertySchema(kind=Kind.STRING),
            "once": PropertySchema(kind=Kind.STRING, immutable=True),
        }

    def canonical(self, type_name: str) -> str:
        return {"OldT": "T"}.get(type_name, type_name)

    def must_replace(
        self, type_name: str, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]
    ) -> str | None:
        return "it cannot shrink" if "size" in changed and want["size"] < was["size"] else None

    def keeps(
        self, type_name: str, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]
    ) -> frozenset[str]:
        return frozenset({"fixed"}) if want.get("name") == "keep" else frozenset()


ROW = Existing(id="1", name="r", type="T", properties={"name": "a", "size": 2, "fixed": "f", "once": None})
WANT = Wanted(name="r", type="T", properties={"name": "a", "size": 2, "fixed": "f", "once": None})


def step(want: Wanted = WANT, row: Existing = ROW, **changes: Any) -> Step:
    (found,) = diff([replace(want, properties={**want.properties, **changes})], [row], Rules())
    return found


def test_f123_nothing_changed_is_nothing_to_do() -> None:
    assert step().action is Action.NONE
    assert step().reasons == ()


def test_absent_and_none_are_the_same() -> None:
    assert step(row=replace(ROW, properties={"name": "a", "size": 2, "fixed": "f"})).action is Action.NONE


def test_an_updatable_property_is_updated_and_named() -> None:
    found = step(name="b")
    assert (found.action, found.changed) == (Action.UPDATE, {"name"})
    assert [(reason.property, reason.forces_replacement) for reason in found.reasons] == [("name", False)]


def test_f120_the_property_that_forces_the_replacement_is_named() -> None:
    found = step(name="b", fixed="g")
    assert found.action is Action.REPLACE
    assert [reason.property for reason in found.reasons if reason.forces_replacement] == ["fixed"]


def test_a_type_may_demand_a_replacement_or_spare_one() -> None:
    demanded = step(size=1)
    assert demanded.action is Action.REPLACE
    assert "it cannot shrink" in [reason.text for reason in demanded.reasons]
    assert step(name="keep", fixed="g").action is Action.UPDATE


def test_f121_what_is_known_after_create_is_marked() -> None:
    found = step(name=UNKNOWN, size={"deep": [UNKNOWN]})
    assert (found.action, found.unknown) == (Action.UPDATE, {"name", "size"})
    assert "known after create" in found.reasons[0].text
    assert step(fixed=UNKNOWN).action is Action.REPLACE


def test_a_secret_is_compared_by_its_value_and_not_told() -> None:
    assert step(name=Secret("a")).action is Action.NONE
    found = step(name=Secret("s3cret"))
    assert found.action is Action.UPDATE
    assert "s3cret" not in repr(found)


def test_f128_an_alias_of_a_type_is_the_same_type() -> None:
    assert step(replace(WANT, type="OldT")).action is Action.NONE
    other = step(replace(WANT, type="Other"))
    assert other.action is Action.REPLACE
    assert "from T to Other" in other.reasons[0].text


def test_what_failed_to_be_created_or_is_unhealthy_is_replaced() -> None:
    assert step(row=replace(ROW, failed=True, created=False)).action is Action.REPLACE
    assert step(row=replace(ROW, unhealthy=True)).action is Action.REPLACE
    assert step(row=replace(ROW, properties=None)).action is Action.REPLACE


def test_a_failed_update_is_repeated() -> None:
    assert step(row=replace(ROW, failed=True)).action is Action.UPDATE


def test_a_change_beside_the_properties_is_an_update() -> None:
    assert step(replace(WANT, metadata={"a": 1})).action is Action.UPDATE
    assert step(replace(WANT, deletion_policy=DeletionPolicy.RETAIN)).action is Action.UPDATE
    assert step(replace(WANT, update_policy={"rolling": {}})).action is Action.UPDATE


def test_f124_a_restricted_action_is_refused_with_the_reason() -> None:
    want = replace(WANT, restricted_actions=frozenset({"replace"}))
    assert "restricted_actions" in step(want, fixed="g").refused
    assert step(want, name="b").refused == ""
    assert step(replace(WANT, restricted_actions=frozenset({"update"})), name="b").refused


def test_an_immutable_property_is_refused() -> None:
    assert "'once'" in step(once="x").refused


def test_rows_that_nobody_wants_are_deleted_and_left_overs_too() -> None:
    old = replace(ROW, id="0")
    gone = replace(ROW, id="2", name="gone", deletion_policy=DeletionPolicy.RETAIN)
    steps = diff([WANT], [old, ROW, gone], Rules())
    assert [(found.name, found.action, found.retain) for found in steps] == [
        ("r", Action.NONE, False),
        ("r", Action.DELETE, False),
        ("gone", Action.DELETE, True),
    ]
    assert steps[1].existing is old


def test_what_is_new_is_created_with_its_unknown_properties() -> None:
    (found,) = diff([replace(WANT, properties={"name": UNKNOWN, "size": 1})], [], Rules())
    assert (found.action, found.unknown) == (Action.CREATE, {"name"})


VALUES = st.dictionaries(st.sampled_from(["name", "size", "fixed"]), st.integers(0, 3), min_size=3)


@given(VALUES, VALUES)
def test_f121_after_the_plan_is_carried_out_there_is_nothing_to_do(was: dict[str, int], want: dict[str, int]) -> None:
    wanted = Wanted(name="r", type="T", properties=want)
    (first,) = diff([wanted], [replace(ROW, properties=was)], Rules())
    assert (first.action is Action.NONE) == (was == want)
    (then,) = diff([wanted], [replace(ROW, properties=want)], Rules())
    assert then.action is Action.NONE
