"""A server's user-data."""

import base64
import json
from typing import Any

from calor.cloudinit import AgentBoot, CfnEndpoint, UserDataFormat, UserDataTooLarge, calls_cfn_tools, render
from calor.server.resources.base import Context, ResourceFailed
from calor.server.resources.lookup import is_uuid
from calor.server.resources.nova import boot_verdicts
from calor.server.resources.nova.server_props import ServerProps
from calor.server.template import reveal

SOFTWARE_CONFIG = "SOFTWARE_CONFIG"


async def encoded(at: Context, want: ServerProps) -> str:
    """The ``user_data`` of a create or rebuild call. Raises `ResourceFailed` when it is too large, with the sizes."""
    shape = UserDataFormat(want.user_data_format)
    limit = at.options.get("max_server_user_data_size")
    more = {} if limit is None else {"limit": int(limit)}
    try:
        text = await text_of(at, want)
        wants_agent = shape is UserDataFormat.SOFTWARE_CONFIG or (
            shape is UserDataFormat.HEAT_CFNTOOLS and calls_cfn_tools(text)
        )
        data = render(
            text,
            user_data_format=shape,
            metadata=guest_metadata(at, want) or None,
            instance_user=want.admin_user,
            cfn=CfnEndpoint(url=f"{at.urls.cfn}/v1/"),
            agent=await agent_boot(at) if wants_agent else None,
            **more,
        )
    except UserDataTooLarge as exc:
        raise ResourceFailed(str(exc)) from exc
    return base64.b64encode(data).decode("ascii")


def guest_metadata(at: Context, want: ServerProps) -> dict[str, Any]:
    """What travels as ``cfn-init-data``, secrets in the clear."""
    known: dict[str, Any] = reveal(at.me.metadata)
    return {"deployments": [], **known} if want.user_data_format == SOFTWARE_CONFIG else known


async def text_of(at: Context, want: ServerProps) -> str:
    """The text itself, or that of the software config whose id it is (never for HEAT_CFNTOOLS)."""
    if want.user_data_format != "HEAT_CFNTOOLS" and is_uuid(want.user_data):
        stored = await at.configs.get(want.user_data)
        if stored is not None:
            return _text(stored.config)
    return want.user_data


def _text(config: Any) -> str:
    """A config that is a map is a document in JSON (Ignition's are)."""
    return config if isinstance(config, str) else json.dumps(config) if config else ""


async def agent_boot(at: Context) -> AgentBoot:
    url, sha256 = at.guests.agent_file()
    return AgentBoot(
        server=at.urls.orchestration,
        instance_id=at.me.id,
        bootstrap_token=await at.guests.bootstrap_token(at.me.id),
        agent_url=url,
        agent_sha256=sha256,
        ca_certificate=at.urls.ca_certificate,
        report_cloud_init=boot_verdicts.is_wanted(at.me.metadata),
    )


def compact_json(value: Any) -> str:
    """A value as text, for a service that takes texts only."""
    return json.dumps(value, separators=(", ", ": "), ensure_ascii=False)


def base64_text(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")
