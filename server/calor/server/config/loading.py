"""From files and overrides to `Settings`; and the sample file."""

import io
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oslo_config import cfg

from calor.server.config.declare import idle_sentences, options_of, read
from calor.server.config.guest_urls import GuestUrls, UnreachableUrl, guest_base
from calor.server.config.sections import CfnListener, Clients, Database, General, Keystone, Limits, RestListener
from calor.server.config.unknown import unknown_names

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----\n.*?\n-----END CERTIFICATE-----", re.DOTALL)
_SECTIONS: tuple[tuple[str, type[Any]], ...] = (
    ("DEFAULT", General),
    ("DEFAULT", Limits),
    ("heat_api", RestListener),
    ("heat_api_cfn", CfnListener),
    ("database", Database),
    ("keystone_authtoken", Keystone),
    ("clients", Clients),
)

_POLICY_FILE = cfg.StrOpt(
    "policy_file",
    default="policy.yaml",
    help="File of your access rules; beside calor.conf, or an absolute path. One that is named must be there.",
)
"""Registered and read by oslo.policy; here for the sample."""


class ConfigurationFault(Exception):
    """The configuration cannot be used; the message names the option and what to do."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All sections. ``raw`` is oslo.config's own object, which oslo.policy needs; ``files`` are those read,
    ``unknown`` sentences on names in them that mean nothing and on options that have no effect."""

    general: General
    limits: Limits
    heat_api: RestListener
    heat_api_cfn: CfnListener
    database: Database
    keystone: Keystone
    clients: Clients
    raw: Any
    files: tuple[Path, ...]
    unknown: tuple[str, ...]

    @property
    def key_file(self) -> Path:
        return Path(self.general.encryption_key_file or Path(self.general.state_dir) / "keys")

    @property
    def database_url(self) -> str:
        return self.database.connection or f"sqlite:///{Path(self.general.state_dir) / 'calor.sqlite'}"

    def guest_urls(self, *, rest_port: int, cfn_port: int) -> GuestUrls:
        """What instances are given. The ports are the bound ones. Raises `ConfigurationFault`."""
        general = self.general
        metadata, signals = general.heat_metadata_server_url, general.heat_waitcondition_server_url
        return GuestUrls(
            orchestration=self._guest_url("server_guest_url", general.server_guest_url, rest_port),
            cfn=self._guest_url("heat_metadata_server_url", metadata or signals, cfn_port),
            signals=self._guest_url("heat_waitcondition_server_url", signals or metadata, cfn_port),
            object_store=self._object_store_url(),
            ca_certificate=guest_authority(general.guest_ca_file) if general.guest_ca_file else None,
        )

    def _object_store_url(self) -> str:
        url = self.general.guest_object_store_url
        return self._guest_url("guest_object_store_url", url, 0) if url else ""

    def _guest_url(self, name: str, url: str, port: int) -> str:
        loopback = self.general.allow_loopback_guest_urls
        if not url and not loopback:
            raise ConfigurationFault(
                f"{name} is not set: instances need an address by which they reach this server, "
                f"e.g. {name} = http://203.0.113.5:{port}"
            )
        try:
            return guest_base(name, url or f"http://127.0.0.1:{port}", allow_loopback=loopback)
        except UnreachableUrl as exc:
            raise ConfigurationFault(str(exc)) from exc


def load(files: Sequence[Path] = (), overrides: Mapping[str, Mapping[str, Any]] | None = None) -> Settings:
    """Read ``calor.conf`` files, later ones winning. ``overrides`` are {section: {option: value}}.

    Raises `ConfigurationFault`.
    """
    conf = _registered()
    try:
        conf([], project="calor", default_config_files=[str(file) for file in files], default_config_dirs=[])
        for section, values in (overrides or {}).items():
            for name, value in values.items():
                conf.set_override(name, value, None if section == "DEFAULT" else section)
        parts = [read(section, conf if group == "DEFAULT" else conf[group]) for group, section in _SECTIONS]
        idle = [line for part, (group, _) in zip(parts, _SECTIONS, strict=True) for line in idle_sentences(part, group)]
        unknown = (*unknown_names(files, _SECTIONS), *idle)
    except (cfg.Error, ValueError) as exc:
        raise ConfigurationFault(str(exc).strip()) from exc
    general, limits, rest, cfn, database, keystone, clients = parts
    return Settings(
        general=general,
        limits=limits,
        heat_api=rest,
        heat_api_cfn=cfn,
        database=database,
        keystone=keystone,
        clients=clients,
        raw=conf,
        files=tuple(files),
        unknown=unknown,
    )


def guest_authority(file: str) -> str:
    """The certificates of a PEM file and nothing else of it. Raises `ConfigurationFault`."""
    try:
        text = Path(file).read_text(encoding="utf-8")
        found = _CERTIFICATE.findall(text)
        ssl.create_default_context(cadata="\n".join(found))
    except (OSError, ValueError) as exc:  # ssl.SSLError is an OSError
        raise ConfigurationFault(f"guest_ca_file = {file} cannot be used: {exc}.") from exc
    if not found:
        raise ConfigurationFault(f"guest_ca_file = {file} has no certificate in PEM format.")
    return "\n".join(found) + "\n"


def sample() -> str:
    """A ``calor.conf`` with every option, its help and its default, commented out."""
    out = io.StringIO()
    shown = ""
    for group, section in _SECTIONS:
        if group != shown:
            out.write(f"\n[{group}]\n" if shown else f"[{group}]\n")
            shown = group
        for one in options_of(section, group):
            out.write(_sample_of(one))
    out.write(f"\n[oslo_policy]\n{_sample_of(_POLICY_FILE)}")
    return out.getvalue()


def _sample_of(one: Any) -> str:
    lines = [f"\n# {one.help}"]
    if getattr(one.type, "choices", None):
        lines.append(f"# One of: {', '.join(one.type.choices)}")
    default = one.default
    if isinstance(default, list):
        default = ",".join(default)
    elif isinstance(default, bool):
        default = str(default).lower()
    lines.append(f"#{one.name} = {'' if default is None else default}".rstrip())
    return "\n".join(lines) + "\n"


def _registered() -> Any:
    conf = cfg.ConfigOpts()
    for group, section in _SECTIONS:
        conf.register_opts(options_of(section, group), group=None if group == "DEFAULT" else group)
    return conf
