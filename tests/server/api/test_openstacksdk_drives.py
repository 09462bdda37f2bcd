"""The unmodified openstacksdk, which Ansible and Terraform-like tools sit on, against the application."""

import asyncio
from typing import Any

import openstack
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")


@pytest.fixture
def connection(rest: Any) -> Any:
    """As to a cloud whose catalog names us: the SDK looks for our versions by itself."""
    url = f"http://127.0.0.1:{rest.port}/v1/proj1"
    made = openstack.connect(
        load_yaml_config=False, load_envvars=False, auth_type="admin_token", endpoint=url, token="member:proj1"
    )
    yield made
    made.close()


async def test_a_stack_lives_and_dies(connection: Any, engine: Any) -> None:
    def drive() -> None:
        heat = connection.orchestration
        made = heat.create_stack(name="s1", template={"heat_template_version": "2021-04-16"}, tags="t1")
        assert [one.name for one in heat.stacks()] == ["s1"]
        found = heat.find_stack("s1")
        assert (found.id, found.status) == (made.id, "CREATE_COMPLETE")
        shown = heat.get_stack(made.id)
        assert (shown.outputs[0]["output_value"], shown.tags) == ("hello", ["t1"])
        assert [one.name for one in heat.resources(shown)] == ["a"]
        assert [one.resource_name for one in heat.stack_events(shown)] == ["a"]
        assert heat.get_stack_template(shown).heat_template_version == "2021-04-16"
        heat.suspend_stack(shown)
        heat.delete_stack(shown)
        assert heat.find_stack("s1") is None

    await asyncio.to_thread(drive)
    assert engine.stacks.all == {}
