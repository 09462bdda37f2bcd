"""``restricted_actions`` of the resource registry: an update that would touch what must stay is refused."""

from typing import Any

import pytest


def template(size: int, value: str = "x") -> dict[str, Any]:
    text = {"type": "OS::Heat::RandomString", "properties": {"length": size}}
    other = {"type": "OS::Heat::TestResource", "properties": {"value": value}}
    return {"heat_template_version": "2021-04-16", "resources": {"text": text, "other": other}}


def restricted(name: str, *actions: str) -> dict[str, Any]:
    return {"resource_registry": {"resources": {name: {"restricted_actions": list(actions)}}}}


@pytest.mark.parametrize(
    ("name", "action", "after"),
    [("text", "replace", template(9)), ("o*", "update", template(8, "y"))],
)
async def test_f124_a_restricted_action_fails_the_update_and_changes_nothing(
    engine: Any, name: str, action: str, after: dict[str, Any]
) -> None:
    stack = await engine.create("s", template(8))
    await engine.reached(stack, "CREATE_COMPLETE")
    before = {key: view.physical_id for key, view in (await engine.resources(stack)).items()}
    await engine.update(stack, after, environment=restricted(name, action))
    view = await engine.reached(stack, "UPDATE_FAILED")
    assert f"the environment forbids to {action} this resource" in view.status_reason
    assert {key: view.physical_id for key, view in (await engine.resources(stack)).items()} == before
    await engine.update(stack, after, environment={})  # the way out
    await engine.reached(stack, "UPDATE_COMPLETE")


async def test_what_is_not_restricted_goes_on(engine: Any) -> None:
    stack = await engine.create("s", template(8), environment=restricted("text", "update"))
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.update(stack, template(9), environment=restricted("text", "update"))
    await engine.reached(stack, "UPDATE_COMPLETE")
