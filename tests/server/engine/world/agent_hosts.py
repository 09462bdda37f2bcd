"""Stacks that wait for signals, and servers with our agent whose guests the tests play."""

import dataclasses
from typing import Any

import sqlalchemy as sa

from calor.server.cloud.door import Collection
from calor.server.identity import hash_secret
from calor.server.resources.base import ResourceType

SERVERS = Collection(service="compute", single="server", plural="servers")


@dataclasses.dataclass(frozen=True, kw_only=True)
class HostProps:
    size: int = 1


class Host(ResourceType[HostProps]):
    """A server with our agent."""

    name, props, collection = "Test::Host", HostProps, SERVERS
    has_metadata_endpoint = True

    async def create(self, at: Any, want: HostProps) -> str:
        await at.guests.bootstrap_token(at.me.id)
        record = await at.cloud.create(SERVERS, name=at.me.physical_name)
        return str(record["id"])


def hot(resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": resources, **more}


def waiting(count: int, timeout: float = 30) -> dict[str, Any]:
    return hot(
        {
            "h": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "HEAT_SIGNAL"}},
            "w": {
                "type": "OS::Heat::WaitCondition",
                "properties": {"handle": {"get_resource": "h"}, "count": count, "timeout": timeout},
            },
        },
        outputs={
            "d": {"value": {"get_attr": ["w", "data"]}},
            "url": {"value": {"get_attr": ["h", "endpoint"]}},
        },
    )


async def exists(engine: Any, stack: Any, name: str) -> None:
    async def there() -> bool:
        view = (await engine.resources(stack)).get(name)
        return view is not None and view.action.value != "INIT"

    await engine.until(there)


def deployed(count: int = 1, **more: Any) -> dict[str, Any]:
    resources: dict[str, Any] = {
        "host": {"type": "Test::Host"},
        "c": {
            "type": "OS::Heat::SoftwareConfig",
            "properties": {"group": "script", "config": "echo", "outputs": [{"name": "o"}]},
        },
    }
    for n in range(count):
        resources[f"d{n}"] = {
            "type": "OS::Heat::SoftwareDeployment",
            "properties": {
                "server": {"get_resource": "host"},
                "config": {"get_resource": "c"},
                "name": f"step-{9 - n}",
                **more,
            },
        }
    return hot(resources, outputs={"o": {"value": {"get_attr": ["d0", "o"]}}})


async def guest_of(engine: Any, stack: Any) -> tuple[Any, str]:
    """Enrolled as an agent does it: the identity, and the server's row id."""
    await exists(engine, stack, "host")

    async def begun() -> bool:
        return (await engine.resources(stack))["host"].status.value == "COMPLETE"

    await engine.until(begun)
    rows = await engine.orchestrator._tools.database.read(_hosts)
    resource_id = rows[-1]
    guests = engine.orchestrator.guests
    row = await engine.orchestrator._tools.identities.row(resource_id)
    token = engine.orchestrator._tools.identities.bootstrap_token(row)
    await guests.enrol(resource_id, token, hash_secret("secret"))
    bearer, _ = await guests.mint(resource_id, "secret")
    return await guests.instance_of_bearer(bearer), resource_id


async def _hosts(connection: Any) -> list[str]:
    query = "SELECT id FROM resource WHERE type = 'Test::Host' ORDER BY created_at"
    return [row[0] for row in await connection.execute(sa.text(query))]


async def polled(engine: Any, who: Any, count: int = 1) -> Any:
    since = 0
    for _ in range(20):
        found = await engine.orchestrator.guests.deployments(who, since=since, wait=5)
        if found is not None and len(found.deployments) >= count:
            return found
        since = found.version if found else since
    raise AssertionError("no deployments came")


def result_of(found: Any, index: int = 0, code: int = 0, **outputs: Any) -> dict[str, Any]:
    mark = found.deployments[index]["calor"]
    return {
        "run_id": mark["run_id"],
        "deployment_id": mark["deployment_id"],
        "config_id": found.deployments[index]["id"],
        "outcome": "finished",
        "outputs": {"deploy_status_code": code, "deploy_stdout": "said", "deploy_stderr": "", **outputs},
    }
