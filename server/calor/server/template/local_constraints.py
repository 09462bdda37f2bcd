"""Custom constraints that need no cloud: addresses, names, times. Each says whether a text is right."""

import ipaddress
import json
import re
import zoneinfo
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

_MAC = re.compile(r"[0-9a-fA-F]{2}([:-])(?:[0-9a-fA-F]{2}\1){4}[0-9a-fA-F]{2}")
_LABEL = re.compile(r"(?!-)[a-zA-Z0-9_-]{1,63}(?<!-)")
_CRON_NAMES: tuple[Mapping[str, int], ...] = (
    {},
    {},
    {},
    {
        name: i
        for i, name in enumerate(
            ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
        )
    },
    {name: i for i, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])},
)
_CRON_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def is_ip_addr(value: Any) -> bool:
    try:
        ipaddress.ip_address(str(value))
    except ValueError:
        return False
    return True


def is_net_cidr(value: Any) -> bool:
    """An address with a prefix length; host bits may be set."""
    address, slash, prefix = str(value).partition("/")
    if not slash or not prefix.isdigit() or not is_ip_addr(address):
        return False
    return int(prefix) <= ipaddress.ip_address(address).max_prefixlen


def is_ip_or_cidr(value: Any) -> bool:
    return is_ip_addr(value) or is_net_cidr(value)


def is_mac_addr(value: Any) -> bool:
    return bool(_MAC.fullmatch(str(value)))


def is_relative_dns_name(value: Any) -> bool:
    """A name without a dot at its end; an all-numeric last label is no name."""
    text = str(value)
    if not text or len(text) > 255 or text.endswith("."):
        return False
    labels = text.split(".")
    return all(_LABEL.fullmatch(label) for label in labels) and not (len(labels) > 1 and labels[-1].isdigit())


def is_dns_name(value: Any) -> bool:
    text = str(value)
    if text.endswith("."):
        return is_relative_dns_name(text[:-1]) and "." in text[:-1]
    return is_relative_dns_name(text)


def is_dns_domain(value: Any) -> bool:
    """A full name: it ends with a dot and has two labels at least."""
    text = str(value)
    return text.endswith(".") and is_dns_name(text)


def is_cron_expression(value: Any) -> bool:
    """Five fields of lists, ranges and steps, with names of months and weekdays."""
    fields = str(value).split()
    return len(fields) == 5 and all(_is_cron_field(text.lower(), place) for place, text in enumerate(fields))


def _is_cron_field(text: str, place: int) -> bool:
    low, high = _CRON_RANGES[place]
    for part in text.split(","):
        span, slash, step = part.partition("/")
        if slash and not (step.isdigit() and int(step) > 0):
            return False
        if span in ("*", "?"):
            continue
        numbers = [_cron_number(bound, place) for bound in span.split("-")]
        if len(numbers) > 2 or any(n is None or not low <= n <= high for n in numbers):
            return False
    return True


def _cron_number(text: str, place: int) -> int | None:
    return int(text) if text.isdigit() else _CRON_NAMES[place].get(text)


def is_timezone(value: Any) -> bool:
    try:
        zoneinfo.ZoneInfo(str(value))
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return False
    return bool(value)


def is_iso_8601(value: Any) -> bool:
    try:
        datetime.fromisoformat(str(value))
    except ValueError:
        return False
    return True


def is_json_string(value: Any) -> bool:
    try:
        json.loads(value)
    except (TypeError, ValueError):
        return False
    return True


LOCAL: Mapping[str, Callable[[Any], bool]] = {
    "ip_addr": is_ip_addr,
    "net_cidr": is_net_cidr,
    "ip_or_cidr": is_ip_or_cidr,
    "mac_addr": is_mac_addr,
    "dns_name": is_dns_name,
    "rel_dns_name": is_relative_dns_name,
    "dns_domain": is_dns_domain,
    "cron_expression": is_cron_expression,
    "timezone": is_timezone,
    "iso_8601": is_iso_8601,
    "expiration": is_iso_8601,  # that it lies in the future is for somebody with a clock
    "json_string": is_json_string,
}
"""By Heat's names. What is not here is asked of a cloud."""

_ASKED: Mapping[str, tuple[str, ...]] = {
    "barbican": ("container", "secret"),
    "blazar": ("reservation",),
    "cinder": ("backup", "qos_specs", "snapshot", "volume", "vtype"),
    "designate": ("zone",),
    "glance": ("image",),
    "ironic": ("node", "portgroup"),
    "keystone": ("domain", "group", "project", "region", "role", "service", "user"),
    "magnum": ("cluster_template",),
    "manila": ("share_network", "share_snapshot", "share_type"),
    "mistral": ("workflow",),
    "neutron": (
        "address_scope",
        "flow_classifier",
        "lbaas.listener",
        "lbaas.loadbalancer",
        "lbaas.pool",
        "lbaas.provider",
        "network",
        "port",
        "port_pair",
        "port_pair_group",
        "qos_policy",
        "router",
        "security_group",
        "segment",
        "subnet",
        "subnetpool",
        "taas.tap_flow",
        "taas.tap_service",
    ),
    "nova": ("flavor", "host", "keypair", "network", "server"),
    "octavia": (
        "availabilityzone",
        "availabilityzoneprofile",
        "flavor",
        "flavorprofile",
        "l7policy",
        "listener",
        "loadbalancer",
        "pool",
    ),
    "trove": ("flavor",),
    "zaqar": ("queue",),
}
REMOTE = frozenset(f"{service}.{name}" for service, names in _ASKED.items() for name in names)
"""Those that are asked of a cloud. What is in neither is no constraint."""

TIMELY = frozenset({"expiration"})
"""Those of `LOCAL` that somebody with a clock must check too."""
