"""The three ways in which a server's user-data is made (OS::Nova::Server ``user_data_format``)."""

import enum
import re
from collections.abc import Mapping, Sequence
from typing import Any

from calor.cloudinit import ignition, parts
from calor.cloudinit.content import Kind, as_bytes, ignition_document, kind_of
from calor.cloudinit.mime import Part, assemble, user_parts
from calor.cloudinit.parts import AgentBoot, CfnEndpoint
from calor.cloudinit.repair import deliverable
from calor.cloudinit.size import MAX_USER_DATA, fitted

CFN_TOOL = re.compile(rb"\bcfn-(init|signal|hup|get-metadata|create-aws-symlinks)\b")
NOT_FOR_CLOUD_INIT = frozenset({Kind.OTHER, Kind.IGNITION, Kind.GZIP})


class UserDataFormat(enum.Enum):
    HEAT_CFNTOOLS = "HEAT_CFNTOOLS"
    RAW = "RAW"
    SOFTWARE_CONFIG = "SOFTWARE_CONFIG"


def render(
    user_data: str | bytes,
    *,
    user_data_format: UserDataFormat,
    metadata: Mapping[str, Any] | None = None,
    instance_user: str | None = None,
    cfn: CfnEndpoint | None = None,
    agent: AgentBoot | None = None,
    limit: int = MAX_USER_DATA,
) -> bytes:
    """User-data in the given format, ready for base64. Raises `UserDataTooLarge`.

    ``metadata`` is the resource metadata that travels as ``cfn-init-data``. ``cfn`` is needed for HEAT_CFNTOOLS,
    ``agent`` is started by SOFTWARE_CONFIG; HEAT_CFNTOOLS takes the cfn-* tools from it, where the user data calls
    any (None: nothing of ours is installed). ``limit`` is in bytes, before base64; Nova's own limit holds in any case.
    """
    if user_data_format is UserDataFormat.RAW:
        return raw(user_data, limit=limit)
    if user_data_format is UserDataFormat.SOFTWARE_CONFIG:
        return software_config(user_data, metadata=metadata, instance_user=instance_user, agent=agent, limit=limit)
    if cfn is None:
        raise ValueError("HEAT_CFNTOOLS user data needs the address of the CFN endpoint")
    return heat_cfntools(user_data, metadata=metadata, instance_user=instance_user, cfn=cfn, agent=agent, limit=limit)


def raw(user_data: str | bytes, *, limit: int = MAX_USER_DATA) -> bytes:
    """The user's bytes, nothing added; compressed only when too large and meant for cloud-init, which unpacks."""
    data = as_bytes(user_data)
    return fitted(data, {"user data": len(data)}, limit=limit, compressible=kind_of(data) not in NOT_FOR_CLOUD_INIT)


def heat_cfntools(
    user_data: str | bytes,
    *,
    cfn: CfnEndpoint,
    metadata: Mapping[str, Any] | None = None,
    instance_user: str | None = None,
    agent: AgentBoot | None = None,
    limit: int = MAX_USER_DATA,
) -> bytes:
    """Heat's original format: the user's data is a file that `loguserdata.py` runs. Where it calls the cfn-* tools,
    an image without them gets ours (from ``agent``).

    Where it is no script but something that cloud-init understands (``#cloud-config``, MIME …) it goes along a
    second time under its own type: as a file alone it would do nothing.
    """
    return _multipart(
        [
            *parts.beginning(instance_user),
            *parts.cfn_user_data(as_bytes(user_data)),
            *_with_a_meaning_of_their_own(user_data),
            *parts.cfn_init_data(metadata),
            *parts.cfn_endpoint(cfn),
            *_tools(user_data, agent),
        ],
        limit,
    )


def software_config(
    user_data: str | bytes,
    *,
    metadata: Mapping[str, Any] | None = None,
    instance_user: str | None = None,
    agent: AgentBoot | None = None,
    limit: int = MAX_USER_DATA,
) -> bytes:
    """The format for software deployments. An Ignition configuration stays one, with the metadata added."""
    document = ignition_document(as_bytes(user_data))
    if document is not None:
        data = ignition.with_metadata(document, metadata) if metadata else as_bytes(user_data)
        return fitted(data, {"Ignition configuration": len(data)}, limit=limit, compressible=False)
    return _multipart(
        [
            *parts.beginning(instance_user),
            *map(deliverable, user_parts(user_data)),
            *parts.cfn_init_data(metadata),
            *(() if agent is None else (parts.agent_boot(agent),)),
        ],
        limit,
    )


def calls_cfn_tools(user_data: str | bytes) -> bool:
    return CFN_TOOL.search(as_bytes(user_data)) is not None


def _tools(user_data: str | bytes, agent: AgentBoot | None) -> Sequence[Part]:
    if agent is None or not calls_cfn_tools(user_data):
        return ()
    return (parts.agent_boot(agent, tools_only=True),)


def _with_a_meaning_of_their_own(user_data: str | bytes) -> Sequence[Part]:
    kind = kind_of(user_data)
    return () if kind in (Kind.SCRIPT, Kind.OTHER, Kind.IGNITION) else tuple(map(deliverable, user_parts(user_data)))


def _multipart(content: Sequence[Part], limit: int) -> bytes:
    sizes: dict[str, int] = {}
    for part in content:
        sizes[part.label] = sizes.get(part.label, 0) + len(part.content)
    return fitted(assemble(content), sizes, limit=limit)
