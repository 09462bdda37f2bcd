"""What the services answer: previews, validation, templates, lists, events, the catalogue."""

from typing import Any

import pytest

from calor.server.engine.contract.views import EventQuery, StackQuery, StackRequest
from calor.server.errors import BadRequest, EntityNotFound, InvalidInput, RequestLimitExceeded, ResourceNotAvailable
from calor.server.identity import Caller

USER = Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")
OTHER = Caller(user_id="u2", project_id="p2", roles=frozenset({"member"}), user_name="user2", token="t2")
TEXT = """\
heat_template_version: 2021-04-16
description: of texts
parameters:
  p: {type: string, default: d}
  q: {type: string, default: dq, hidden: true}
resources:
  a: {type: "OS::Heat::TestResource", properties: {value: {get_param: p}}}
  b: {type: "OS::Heat::TestResource", properties: {value: b}, depends_on: a}
outputs:
  o: {value: {get_attr: [a, output]}, description: what a says}
"""


async def test_a_patch_keeps_what_is_not_given(engine: Any) -> None:
    stack = await engine.create("pt", TEXT, parameters={"p": "one", "q": "two"}, tags=["x"])
    view = await engine.reached(stack, "CREATE_COMPLETE")
    assert view.parameters == {
        "OS::project_id": "p1",
        "OS::stack_id": stack.id,
        "OS::stack_name": "pt",
        "p": "one",
        "q": "******",
    }
    assert (view.description, list(view.tags)) == ("of texts", ["x"])
    await engine.stacks.update(USER, "pt", stack.id, StackRequest(existing=True, parameters={"p": "new"}))
    view = await engine.reached(stack, "UPDATE_COMPLETE")
    assert (view.outputs[0].value, view.outputs[0].description, list(view.tags)) == ("new", "what a says", ["x"])
    patch = StackRequest(existing=True, clear_parameters=["p"])
    await engine.stacks.update(USER, "pt", stack.id, patch)
    assert (await engine.reached(stack, "UPDATE_COMPLETE")).outputs[0].value == "d"


async def test_attributes_that_a_type_does_not_have_are_told_with_the_nearest_known(engine: Any) -> None:
    text = TEXT.replace("value: b", "value: {get_attr: [a, outputt]}").replace(
        "[a, output]", "[b, zzz, {get_param: p}]"
    )
    with pytest.raises(InvalidInput) as caught:
        await engine.create("at", text)
    first, second = caught.value.problems
    assert (first.path, second.path) == ("resources.b.properties", "outputs.o.value")
    assert "'a' (OS::Heat::TestResource) has no attribute 'outputt' (did you mean 'output'?)" in first.message
    assert "'b' (OS::Heat::TestResource) has no attribute 'zzz'; known are output, show." in second.message


async def test_a_stack_name_is_shown_up_to_a_line(engine: Any) -> None:
    with pytest.raises(BadRequest) as caught:
        await engine.create("x" * 10_000, TEXT)
    assert len(caught.value.detail) < 500


async def test_template_environment_and_files_come_back(engine: Any) -> None:
    environment = {"parameters": {"p": "from env", "q": "hush"}}
    stack = await engine.create("te", TEXT, environment=environment, files={"f": "content"})
    await engine.reached(stack, "CREATE_COMPLETE")
    template = await engine.stacks.template(USER, "te", stack.id)
    assert template["resources"]["a"]["properties"] == {"value": {"get_param": "p"}}
    shown = await engine.stacks.environment(USER, "te", stack.id)
    assert shown["parameters"] == {"p": "from env", "q": "******"}
    assert await engine.stacks.files(USER, "te", stack.id) == {"f": "content"}


async def test_preview_update_sorts_into_heats_five_groups(engine: Any) -> None:
    stack = await engine.create("pu", TEXT)
    await engine.reached(stack, "CREATE_COMPLETE")
    changed = TEXT.replace("{get_param: p}", "other").replace("  b:", "  c:")
    groups = await engine.stacks.preview_update(USER, "pu", stack.id, StackRequest(template=changed), show_nested=False)
    names = {group: [one["resource_name"] for one in entries] for group, entries in groups.items()}
    assert names == {"added": ["c"], "deleted": ["b"], "replaced": [], "unchanged": [], "updated": ["a"]}
    assert await engine.state(stack) == "CREATE_COMPLETE"


async def test_preview_stores_nothing(engine: Any) -> None:
    found = await engine.stacks.preview(USER, StackRequest(name="pv", template=TEXT))
    assert [one["resource_name"] for one in found["resources"]] == ["a", "b"]
    assert found["resources"][0]["required_by"] == ["b"]
    assert (await engine.stacks.list(USER, StackQuery()))[1] == 0


async def test_validate_shows_the_parameters(engine: Any) -> None:
    found = await engine.stacks.validate(USER, StackRequest(template=TEXT), show_nested=False)
    assert found["Parameters"]["p"] | {} == {
        "Type": "String",
        "Description": "",
        "NoEcho": "false",
        "Label": "p",
        "Default": "d",
    }
    assert found["Parameters"]["q"]["Default"] == "******"
    with pytest.raises(InvalidInput, match=r"template:7:"):
        bad = TEXT.replace('OS::Heat::TestResource", properties: {value: {get', 'No::Such", properties: {value: {get')
        await engine.stacks.validate(USER, StackRequest(template=bad), show_nested=False)


async def test_another_tenants_stack_does_not_exist(engine: Any) -> None:
    stack = await engine.create("mine", TEXT)
    await engine.reached(stack, "CREATE_COMPLETE")
    for call in (
        engine.stacks.show(OTHER, "mine", stack.id),
        engine.stacks.identify(OTHER, stack.id),
        engine.stacks.delete(OTHER, "mine", stack.id),
        engine.stacks.template(OTHER, "mine", stack.id),
        engine.orchestrator.resources.metadata(OTHER, "mine", stack.id, "a"),
        engine.orchestrator.events.list(OTHER, "mine", stack.id, None, EventQuery()),
    ):
        with pytest.raises(EntityNotFound):
            await call
    assert (await engine.stacks.list(OTHER, StackQuery()))[1] == 0


async def test_lists_are_filtered_and_paged(engine: Any) -> None:
    for name in ("a", "b", "c"):
        await engine.reached(await engine.create(name, TEXT, tags=[name, "all"]), "CREATE_COMPLETE")

    async def names(**query: Any) -> list[str]:
        return [view.identity.name for view in (await engine.stacks.list(USER, StackQuery(**query)))[0]]

    assert await names() == ["c", "b", "a"]
    assert await names(sort_keys=["name"], sort_dir="asc") == ["a", "b", "c"]
    assert await names(filters={"name": ["b", "c"]}) == ["c", "b"]
    assert await names(filters={"status": ["COMPLETE"]}, limit=2) == ["c", "b"]
    assert await names(tags=["all"], not_tags=["b"]) == ["c", "a"]
    assert await names(tags_any=["a", "b"]) == ["b", "a"]
    last = (await engine.stacks.list(USER, StackQuery(limit=1)))[0][0].identity.id
    assert await names(marker=last) == ["b", "a"]


async def test_events_can_be_shown_alone(engine: Any) -> None:
    stack = await engine.create("ev", TEXT)
    await engine.reached(stack, "CREATE_COMPLETE")
    events = engine.orchestrator.events
    (first, *_) = await events.list(USER, "ev", stack.id, "a", EventQuery(filters={"resource_status": ["COMPLETE"]}))
    shown = await events.show(USER, "ev", stack.id, "a", first.id)
    assert (shown.resource_type, shown.properties["value"]) == ("OS::Heat::TestResource", "d")
    with pytest.raises(EntityNotFound):
        await events.list(USER, "ev", stack.id, "nope", EventQuery())


async def test_resources_show_live_attributes_and_health_marks(engine: Any) -> None:
    stack = await engine.create("rs", TEXT)
    await engine.reached(stack, "CREATE_COMPLETE")
    resources = engine.orchestrator.resources
    view = await resources.show(USER, "rs", stack.id, "a", with_attr=[])
    assert view.attributes["output"] == "d"
    assert await resources.metadata(USER, "rs", stack.id, "a") == {}
    with pytest.raises(ResourceNotAvailable):
        await resources.metadata(USER, "rs", stack.id, "nope")
    await resources.mark_unhealthy(USER, "rs", stack.id, "b", unhealthy=True, reason="it smells")
    assert (await engine.resources(stack))["b"].status_reason == "it smells"
    before = (await engine.resources(stack))["b"].physical_id
    await engine.update(stack, TEXT)
    await engine.reached(stack, "UPDATE_COMPLETE")
    assert (await engine.resources(stack))["b"].physical_id != before


async def test_limits_are_named(engine: Any, world: Any) -> None:
    with pytest.raises(RequestLimitExceeded, match="max_template_size"):
        await engine.create("big", TEXT + "#" * 600_000)
    resources = {f"r{n}": {"type": "OS::Heat::None"} for n in range(1001)}
    with pytest.raises(RequestLimitExceeded, match="max_resources_per_stack"):
        await engine.create("many", {"heat_template_version": "2021-04-16", "resources": resources})


async def test_the_catalogue_knows_types_versions_and_functions(engine: Any) -> None:
    catalogue = engine.orchestrator.catalogue
    names = [view.name for view in catalogue.types(name="OS::Heat::R.*", version=None, support_status=None)]
    assert "OS::Heat::RandomString" in names
    assert catalogue.types(name="[", version=None, support_status=None) == []
    with pytest.raises(BadRequest):
        catalogue.types(name=None, version=None, support_status="BOGUS")
    assert catalogue.type("OS::Heat::RandomString").properties["length"]["default"] == 32
    with pytest.raises(EntityNotFound):
        catalogue.type("No::Such")
    template = catalogue.type_template("OS::Heat::RandomString", "hot")
    assert template["resources"]["RandomString"]["properties"]["length"] == {"get_param": "length"}
    functions = catalogue.template_functions("heat_template_version.rocky", with_conditions=True)
    assert {"functions": "equals"}.items() <= next(f for f in functions if f["functions"] == "equals").items()
    assert any(one["aliases"] for one in catalogue.template_versions())
    (service,) = await catalogue.services()
    assert service.is_up


async def test_outputs_show_what_is_there_while_the_stack_is_made(engine: Any) -> None:
    text = """\
heat_template_version: 2021-04-16
resources:
  first: {type: "OS::Heat::Value", properties: {value: early}}
  slow: {type: "OS::Heat::TestResource", properties: {value: late, action_wait_secs: {create: 30}}, depends_on: first}
outputs:
  first: {value: {get_attr: [first, value]}}
  slow: {value: {get_attr: [slow, output]}}
"""
    stack = await engine.create("so-far", text)

    async def begun() -> bool:
        return (await engine.resources(stack))["slow"].action.value == "CREATE"

    await engine.until(begun)
    outputs = await engine.stacks.outputs(USER, "so-far", stack.id)
    assert {one.name: one.value for one in outputs} == {"first": "early", "slow": None}
    assert (await engine.show(stack)).status.value == "IN_PROGRESS"
    await engine.delete(stack)
    await engine.reached(stack, "DELETE_COMPLETE")


async def test_events_come_in_pages_filtered_and_in_either_order(engine: Any) -> None:
    stack = await engine.create("pages", TEXT)
    await engine.reached(stack, "CREATE_COMPLETE")

    async def listed(resource: str | None = None, **query: Any) -> list[str]:
        rows = await engine.orchestrator.events.list(USER, "pages", stack.id, resource, EventQuery(**query))
        return [row.id for row in rows]

    everything = await listed()
    assert len(everything) == 6
    assert await listed(sort_dir="desc") == everything[::-1]
    assert await listed(limit=2) == everything[:2]
    assert await listed(limit=2, marker=everything[1]) == everything[2:4]
    assert await listed(limit=2, marker=everything[4], sort_dir="desc") == [everything[3], everything[2]]
    assert await listed(marker="unknown") == everything
    assert len(await listed(filters={"resource_status": ["COMPLETE"], "resource_name": ["a", "b"]})) == 2
    assert await listed(filters={"resource_status": ["NOT_A_STATUS"]}) == []
    assert await listed(filters={"no_filter": ["x"]}) == everything
    assert await listed("a", marker=everything[-1]) == []
