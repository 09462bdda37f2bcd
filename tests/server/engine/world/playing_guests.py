"""What the tests' guests do with a deployment that has a secret: fetch it, say where they are, print."""

import base64
from typing import Any

from agent_hosts import deployed, guest_of, polled
from engine_world import USER

from calor.server.engine.contract.progress_views import OutputQuery

SECRET = "s3cret-w0rd"


def with_secret(count: int = 1) -> dict[str, Any]:
    template = deployed(count, input_values={"word": {"get_param": "word"}, "target": "disk"})
    return {**template, "parameters": {"word": {"type": "string", "hidden": True}}}


async def started(hosts: Any, name: str = "steps") -> tuple[Any, Any, Any]:
    """A stack with one deployment, its guest, and what the guest was told."""
    stack = await hosts.create(name, with_secret(), parameters={"word": SECRET})
    who, _ = await guest_of(hosts, stack)
    return stack, who, await polled(hosts, who)


def mark_of(found: Any) -> dict[str, str]:
    return {name: found.deployments[0]["calor"][name] for name in ("run_id", "deployment_id")}


async def run_of(hosts: Any, stack: Any) -> Any:
    return (await hosts.orchestrator.progress.show(USER, stack.name, stack.id)).runs[0]


def beat(found: Any, **more: Any) -> dict[str, Any]:
    return {"state": "running", "interval": 4, "running": [{**mark_of(found), "step": "d0", **more}]}


async def sent(hosts: Any, who: Any, found: Any, text: bytes, offset: int, **more: Any) -> Any:
    piece = {"stream": "stdout", "offset": offset, "data": base64.b64encode(text).decode()}
    body = {**mark_of(found), "attempt": 1, "pieces": [piece], **more}
    return await hosts.orchestrator.guests.output(who, body)


async def output(hosts: Any, stack: Any, **query: Any) -> Any:
    return await hosts.orchestrator.progress.output(USER, stack.name, stack.id, OutputQuery(**query))


async def printed(hosts: Any, stack: Any) -> bytes:
    return b"".join(piece.data for piece in (await output(hosts, stack)).pieces)
