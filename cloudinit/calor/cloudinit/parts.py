"""The parts that Calor puts beside a user's own (names, types and order as images and tools of Heat expect)."""

import functools
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from calor.cloudinit.content import Kind
from calor.cloudinit.mime import Part

HERE = Path(__file__).parent
CFN_INIT_DATA = "text/x-cfninitdata"
AGENT_BOOT_NAME = "000-calor-agent"
"""cloud-init runs scripts in the order of their names: the agent is installed before a user's script may reboot."""


@dataclass(frozen=True, kw_only=True)
class CfnEndpoint:
    """The CFN listener as the guest reaches it, like ``http://10.0.0.2:8000/v1/``."""

    url: str
    validate_certificates: bool = True


@dataclass(frozen=True, kw_only=True)
class AgentBoot:
    """How the agent in an instance finds and proves itself (docs/architecture.md). Written to /etc/calor/agent.json.

    ``server`` is like ``http://10.0.0.2:8004``; ``agent_url`` is a path below it; ``ca_certificate`` is PEM text.
    """

    server: str
    instance_id: str
    bootstrap_token: str
    agent_url: str
    agent_sha256: str
    ca_certificate: str | None = None
    beside_other_agents: bool = False
    """Start even where os-collect-config is installed."""
    report_cloud_init: bool = False
    """Tell the server what cloud-init came to."""

    def __repr__(self) -> str:
        return f"AgentBoot(server={self.server!r}, instance_id={self.instance_id!r}, bootstrap_token=***)"


def beginning(instance_user: str | None) -> Sequence[Part]:
    """What comes first in every multipart of ours.

    The cloud-config sets ``output`` (and ``user``) only, which a user's part may set again: a later part wins.
    """
    return (
        Part(
            content=_template("cloud-config.j2", instance_user=instance_user),
            content_type=Kind.CLOUD_CONFIG.value,
            filename="cloud-config",
        ),
        Part(
            content=_template("boothook.sh.j2", instance_user=instance_user),
            content_type=Kind.BOOTHOOK.value,
            filename="boothook.sh",
        ),
        Part(
            content=b"#part-handler\n" + guest_file("part_handler.py"),
            content_type=Kind.PART_HANDLER.value,
            filename="part-handler.py",
        ),
    )


def cfn_user_data(user_data: bytes) -> Sequence[Part]:
    return (
        Part(content=user_data, content_type=CFN_INIT_DATA, filename="cfn-userdata"),
        Part(content=guest_file("loguserdata.py"), content_type=Kind.SCRIPT.value, filename="loguserdata.py"),
    )


def cfn_init_data(metadata: Mapping[str, Any] | None) -> Sequence[Part]:
    """The resource metadata as JSON; nothing if there is none."""
    if not metadata:
        return ()
    return (Part(content=json.dumps(metadata).encode(), content_type=CFN_INIT_DATA, filename="cfn-init-data"),)


def cfn_endpoint(cfn: CfnEndpoint) -> Sequence[Part]:
    address = urlsplit(cfn.url)
    host = address.hostname or ""
    boto = _template(
        "boto.cfg.j2",
        host=f"[{host}]" if ":" in host else host,
        secure=int(address.scheme == "https"),
        validate=int(cfn.validate_certificates),
    )
    return (
        Part(content=cfn.url.encode(), content_type=CFN_INIT_DATA, filename="cfn-metadata-server"),
        Part(content=boto, content_type=CFN_INIT_DATA, filename="cfn-boto-cfg"),
    )


def agent_boot(agent: AgentBoot, *, tools_only: bool = False) -> Part:
    """The script that installs and starts the agent, or installs its cfn-* tools alone. What it holds is good for
    enrolling once and nothing else."""
    content = _template(
        "agent-boot.sh.j2",
        launcher=guest_file("boot.py").decode("ascii"),
        identity=json.dumps(asdict(agent)),
        instance_id=agent.instance_id,
        verb="install-tools" if tools_only else "install",
    )
    return Part(content=content, content_type=Kind.SCRIPT.value, filename=AGENT_BOOT_NAME)


@functools.cache
def guest_file(name: str) -> bytes:
    """A file that travels into the instance."""
    return (HERE / "guest" / name).read_bytes()


@functools.cache
def _templates() -> Environment:
    environment = Environment(  # noqa: S701 - shell and INI text, no HTML
        loader=FileSystemLoader(HERE / "templates"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shell_quoted"] = shlex.quote
    return environment


def _template(name: str, **values: Any) -> bytes:
    return _templates().get_template(name).render(**values).encode()
