"""Renders the user-data that cloud-init runs in an instance, and carries the files that travel with it (`guest`).

A resource type calls `render` and hands the bytes, base64-encoded, to the compute service. Nothing here does I/O
beyond reading its own package's files; the answer for the same arguments is the same bytes.
"""

from calor.cloudinit.cloud_config import cloud_config
from calor.cloudinit.content import Kind, kind_of
from calor.cloudinit.mime import MimePart, multipart_mime, split
from calor.cloudinit.parts import AgentBoot, CfnEndpoint
from calor.cloudinit.size import MAX_USER_DATA, UserDataTooLarge
from calor.cloudinit.userdata import UserDataFormat, calls_cfn_tools, heat_cfntools, raw, render, software_config

__all__ = [
    "MAX_USER_DATA",
    "AgentBoot",
    "CfnEndpoint",
    "Kind",
    "MimePart",
    "UserDataFormat",
    "UserDataTooLarge",
    "calls_cfn_tools",
    "cloud_config",
    "heat_cfntools",
    "kind_of",
    "multipart_mime",
    "raw",
    "render",
    "software_config",
    "split",
]
