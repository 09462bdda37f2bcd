"""The files and words of ``calor dev``: clouds.yaml, calor.conf, the ready file, the greeting."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from calor.server.cli.dev import certificates
from calor.server.devcloud import state
from calor.server.devcloud.driver import GUEST_API_ADDRESS, KNOWN_GUEST_PORTS


def write(directory: Path, known: state.DevState) -> None:
    """Everything that clients and the server read, before either can look."""
    directory.joinpath("run").mkdir(exist_ok=True)
    state.save(directory, known)
    if known.tls:
        certificates.ensure(directory)
    authority = (certificates.folder(directory) / certificates.AUTHORITY).resolve() if known.tls else None
    state.write_private(directory / "clouds.yaml", state.clouds_yaml(known, authority))
    state.write_private(directory / "calor.conf", calor_conf(directory, known))


def calor_conf(directory: Path, known: state.DevState) -> str:
    """With the driver ``record`` no guest calls, so that signals are given loopback URLs which a user can post to."""
    real = known.driver != "record"
    guest = {
        name: f"{known.scheme}://{GUEST_API_ADDRESS}:{port}" if real else getattr(known, name)
        for name, port in KNOWN_GUEST_PORTS.items()
        if name != "cloud"
    }
    place = certificates.folder(directory).resolve()
    tls = (
        f"cert_file = {place / certificates.CERTIFICATE}\nkey_file = {place / certificates.KEY}\n" if known.tls else ""
    )
    authority = f"guest_ca_file = {place / certificates.AUTHORITY}\n" if known.tls else ""
    return f"""# Written by `calor dev` at each start. Settings of your own belong into local.conf beside it.
[DEFAULT]
state_dir = {directory.resolve()}
server_guest_url = {guest["orchestration"]}
heat_metadata_server_url = {guest["cfn"]}
heat_waitcondition_server_url = {guest["cfn"]}
{f"guest_object_store_url = http://{GUEST_API_ADDRESS}:{KNOWN_GUEST_PORTS['cloud']}" if real else ""}
allow_loopback_guest_urls = {str(not real).lower()}
{authority}
[heat_api]
bind_host = 127.0.0.1
bind_port = {known.ports.orchestration}
{tls}
[heat_api_cfn]
bind_host = 127.0.0.1
bind_port = {known.ports.cfn}
{tls}
[database]
connection = sqlite:///{directory.resolve() / "calor.sqlite"}

[keystone_authtoken]
auth_url = {known.identity}
www_authenticate_uri = {known.identity}
username = calor
password = {known.passwords["calor"]}
project_name = service
"""


def ready_record(directory: Path, known: state.DevState) -> dict[str, Any]:
    return {
        "clouds_yaml": str((directory / "clouds.yaml").resolve()),
        "identity": known.identity,
        "orchestration": known.orchestration,
        "cfn": known.cfn,
        "pid": known.pids.get("server", 0),
        "cloud_pid": known.pids["cloud"],
    }


def write_ready(file: Path, record: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(json.dumps(record) + "\n", encoding="utf-8")
    draft.replace(file)


def is_alive(pid: int) -> bool:
    """Whether a process has this id and has not ended; 0 is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return False
    return fields[0] not in "ZX"  # ended, its parent has only not looked yet


def progress(line: str) -> None:
    click.echo(line, err=True)


def greet(directory: Path, known: state.DevState, about: Mapping[str, Any], *, keeps_servers: bool = True) -> None:
    """What runs, what it is and is not, how to go on, and what is left at the end."""
    stays = "networks, volumes and servers are" if keeps_servers else "servers are removed then; the rest is"
    option = f" --state-dir {directory}" if directory != default_directory() else ""
    enter = "" if known.driver == "record" else f"\n  calor dev shell{option} SERVER"  # nothing runs there to enter
    click.echo(
        f"""Calor's dev cloud is ready.

  identity       {known.identity}
  orchestration  {known.orchestration}
  state          {directory}   (passwords in clouds.yaml)

Servers are run by the driver `{known.driver}`.
  {about["is"]}
  {about["is_not"]}

In another terminal:
  eval "$(calor dev env{option})"
  openstack server list
  openstack stack create -t template.yaml --wait my-stack{enter}
Ctrl-C ends it; {stays} still there at the next start."""
    )
    sys.stdout.flush()


def default_directory() -> Path:
    """``$XDG_STATE_HOME/calor/dev``."""
    root = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(root) / "calor" / "dev"
