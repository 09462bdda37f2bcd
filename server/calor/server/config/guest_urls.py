"""URLs that instances are given: they must reach us from inside an instance (F047)."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

_VERSION = re.compile(r"/v1(/.*)?$")


@dataclass(frozen=True, kw_only=True)
class GuestUrls:
    """Bases of the listeners as instances reach them, without ``/v1`` and without a slash at the end."""

    orchestration: str
    cfn: str
    signals: str
    object_store: str = ""
    """Empty: as the catalog says."""
    ca_certificate: str | None = None
    """PEM text of a private authority that signs them."""


class UnreachableUrl(ValueError):
    """A guest-facing URL that no instance can use."""


def guest_base(name: str, url: str, *, allow_loopback: bool) -> str:
    """``scheme://host:port`` of a configured URL, IPv6 in brackets, with the path before ``/v1`` if there is one.

    Raises `UnreachableUrl`.
    """
    bracketed = _bracketed(url)
    try:
        parts = urlsplit(bracketed)
        host, port = parts.hostname or "", parts.port
    except ValueError as exc:
        raise UnreachableUrl(f"{name} = {url} is not a URL: {exc}.") from exc
    if parts.scheme not in {"http", "https"} or not host:
        raise UnreachableUrl(f"{name} = {url} is not an http or https URL.")
    if not allow_loopback and _is_unreachable(host):
        raise UnreachableUrl(
            f"{name} = {url} leads an instance to itself. Give the address by which instances reach this server, "
            "or set allow_loopback_guest_urls = true if no instance is to call."
        )
    shown = f"[{host}]" if ":" in host else host
    prefix = _VERSION.sub("", parts.path).rstrip("/")
    return f"{parts.scheme}://{shown}" + (f":{port}" if port else "") + prefix


def is_loopback(url: str) -> bool:
    """Whether a URL leads whoever uses it to himself."""
    return _is_unreachable(urlsplit(url).hostname or "localhost")


def _bracketed(url: str) -> str:
    """An IPv6 literal without brackets (``http://fd00::1:8000``) has them put in: the last part is the port."""
    scheme, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    if authority.count(":") < 2 or "[" in authority:
        return url
    host, _, port = authority.rpartition(":")
    if port.isdecimal() and _is_address(host):
        return f"{scheme}{separator}[{host}]:{port}{slash}{path}"
    return f"{scheme}{separator}[{authority}]{slash}{path}"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_unreachable(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)
