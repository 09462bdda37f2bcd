"""What keeps a server from starting: all that can be told without a port, the database or the network."""

import os
import ssl
from collections.abc import Iterator
from pathlib import Path

from calor.server.api import serve
from calor.server.auth import Policy
from calor.server.config import ConfigurationFault, Settings
from calor.server.identity import KeyFileFault, keys


def faults(settings: Settings) -> tuple[str, ...]:
    """A sentence for each; the start and ``calor config check`` ask the same."""
    return tuple(_faults(settings))


def _faults(settings: Settings) -> Iterator[str]:
    if not settings.keystone.auth_url:
        yield "auth_url in [keystone_authtoken] is not set: the server needs a Keystone."
    try:
        settings.guest_urls(rest_port=settings.heat_api.bind_port, cfn_port=settings.heat_api_cfn.bind_port)
    except ConfigurationFault as exc:
        yield str(exc)
    for listener, section in ((settings.heat_api, "heat_api"), (settings.heat_api_cfn, "heat_api_cfn")):
        try:
            serve.tls(listener, section)
        except serve.ListenFault as exc:
            yield str(exc)
    try:
        Policy(settings.raw)
    except ConfigurationFault as exc:
        yield str(exc)
    yield from _files(settings)


def _files(settings: Settings) -> Iterator[str]:
    authorities = (
        ("keystone_authtoken", "cafile", settings.keystone.cafile),
        ("clients", "ca_file", settings.clients.ca_file),
    )
    for section, name, file in authorities:
        if file and (reason := _unusable_authority(Path(file))):
            yield f"[{section}] {name} = {file} cannot be used: {reason}."
    key_file = settings.key_file
    if key_file.exists():
        try:
            keys.load(key_file)
        except KeyFileFault as exc:
            yield str(exc)
    elif reason := _unwritable(key_file.parent, makes_folders=True):
        yield f"The key file {key_file} cannot be made: {reason}."
    log_file = settings.general.log_file
    if log_file and (reason := _unwritable(Path(log_file).parent)):
        yield f"log_file = {log_file} cannot be written: {reason}."


def _unusable_authority(file: Path) -> str:
    if file.is_dir():
        return ""
    try:
        ssl.create_default_context(cafile=str(file))
    except OSError as exc:  # ssl.SSLError is one
        return exc.strerror or str(exc)
    return ""


def _unwritable(folder: Path, *, makes_folders: bool = False) -> str:
    """Why no file can be made there, or nothing."""
    while makes_folders and not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        return f"there is no folder {folder}"
    return "" if os.access(folder, os.W_OK | os.X_OK) else f"this user may not write in {folder}"
