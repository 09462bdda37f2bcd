"""Custom constraints that need no cloud: addresses, names, times. Each says whether a text is right."""

import ipaddress
import json
import re
import zoneinfo
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

_MACS = tuple(
    re.compile(form)
    for form in (
        r"[0-9a-fA-F]{1,2}([:-])(?:[0-9a-fA-F]{1,2}\1){4}[0-9a-fA-F]{1,2}",
        r"[0-9a-fA-F]{1,4}([:.-])[0-9a-fA-F]{1,4}\1[0-9a-fA-F]{1,4}",
        r"[0-9a-fA-F]{5,6}[:-][0-9a-fA-F]{5,6}",
        r"[0-9a-fA-F]{11,12}",
    )
)
_PREFIX = re.compile(r"0|[1-9][0-9]{0,2}")
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")
_LONGEST_NAME = 255
_ISO_8601 = re.compile(
    r"(?P<year>[0-9]{4})(?:-?(?P<month>(?<=-)[0-9]{1,2}|[0-9]{2}(?!$))(?:-?(?P<day>(?<=-)[0-9]{1,2}|[0-9]{2})"
    r"(?:[ T](?P<hour>[0-9]{2})(?::?(?P<minute>[0-9]{2})(?::?(?P<second>[0-9]{1,2})(?:[.,][0-9]+)?)?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:?(?:[0-9]{2})?)?)?)?)?"
)
_CRON_NAMES: Mapping[int, Mapping[str, int]] = {
    3: {name: i for i, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)},  # noqa: SIM905
    4: {name: i for i, name in enumerate("sun mon tue wed thu fri sat".split())},  # noqa: SIM905
}
_CRON_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7), (0, 59), (1970, 2099))
_CRON_FIELDS = (5, 6, 7)
_CRON_DAYS: Mapping[int, re.Pattern[str]] = {2: re.compile(r"\?|l"), 4: re.compile(r"\?|l?[0-7]|[0-7]#[1-5]")}
"""The last day; the last or the nth weekday of a month; a question mark for any."""
_CRON_SHORT = frozenset({"@midnight", "@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@annually"})
_NEVER = re.compile(r"(?!)")


def is_ip_addr(value: Any) -> bool:
    """An address without a zone (``%eth0``)."""
    try:
        ipaddress.ip_address(str(value))
    except ValueError:
        return False
    return "%" not in str(value)


def is_net_cidr(value: Any) -> bool:
    """An address with a prefix length; host bits may be set."""
    address, slash, prefix = str(value).partition("/")
    if not slash or not _PREFIX.fullmatch(prefix) or not is_ip_addr(address):
        return False
    return int(prefix) <= ipaddress.ip_address(address).max_prefixlen


def is_ip_or_cidr(value: Any) -> bool:
    return is_ip_addr(value) or is_net_cidr(value)


def is_mac_addr(value: Any) -> bool:
    """Six, three or two groups of hexadecimal digits, or all of them without a separator."""
    return any(form.fullmatch(str(value)) for form in _MACS)


def is_dns_name(value: Any) -> bool:
    """Labels of lower-case letters, digits and hyphens; a name that ends with a dot has no number at its end. Nothing
    is one too."""
    if value == "":
        return True
    if not isinstance(value, str) or len(value.removesuffix(".")) > _LONGEST_NAME:
        return False
    labels = value.removesuffix(".").split(".")
    is_numeric = value.endswith(".") and len(labels) > 1 and labels[-1].isdigit()
    return all(map(_LABEL.fullmatch, labels)) and not is_numeric


def is_relative_dns_name(value: Any) -> bool:
    """A name without a dot at its end that leaves room for a domain."""
    return is_dns_name(value) and not value.endswith(".") and len(value) <= _LONGEST_NAME - len(".a.")


def is_dns_domain(value: Any) -> bool:
    """A name that ends with a dot, or nothing."""
    return is_dns_name(value) and (value == "" or value.endswith("."))


def is_cron_expression(value: Any) -> bool:
    """Five fields of lists, ranges and steps, with names of months and weekdays, and at most two more for seconds and
    years; or one of the short names (``@daily``). Nothing is one too."""
    text = str(value).lower()
    fields = text.split()
    if text in _CRON_SHORT or not value:
        return True
    return len(fields) in _CRON_FIELDS and all(_is_cron_field(field, place) for place, field in enumerate(fields))


def _is_cron_field(text: str, place: int) -> bool:
    low, high = _CRON_RANGES[place]
    for part in text.split(","):
        span, slash, step = part.partition("/")
        if slash and not (step.isdigit() and int(step) > 0):
            return False
        if span == "*" or _CRON_DAYS.get(place, _NEVER).fullmatch(span):
            continue
        numbers = [_cron_number(bound, place) for bound in span.split("-")]
        if len(numbers) > 2 or any(n is None or not low <= n <= high for n in numbers):
            return False
    return True


def _cron_number(text: str, place: int) -> int | None:
    return int(text) if text.isdigit() else _CRON_NAMES.get(place, {}).get(text)


def is_timezone(value: Any) -> bool:
    if not value:
        return True
    try:
        zoneinfo.ZoneInfo(str(value))
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return False
    return True


def moment(text: str) -> datetime:
    """The moment that a text in ISO 8601 says: a year, a month or a day, with or without a time; UTC where it names no
    zone. Raises `ValueError`."""
    found = _ISO_8601.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no moment in ISO 8601.")
    parts = [int(part) for part in found.group("year", "month", "day", "hour", "minute", "second") if part]
    year, month, day, *time = [*parts, *[1] * (3 - len(parts))]
    hour, minute, second = [*time, 0, 0, 0][:3]
    return datetime(year, month, day, hour, minute, second, tzinfo=_zone(found["zone"]))


def _zone(written: str | None) -> timezone:
    if written is None or written == "Z":
        return UTC
    digits = written.replace(":", "")
    offset = timedelta(hours=int(digits[1:3]), minutes=int(digits[3:] or 0))
    return timezone(-offset if written.startswith("-") else offset)


def is_iso_8601(value: Any) -> bool:
    try:
        moment(str(value))
    except ValueError:
        return False
    return True


def is_expiration(value: Any) -> bool:
    """That it lies in the future is for somebody with a clock. Nothing is one too."""
    return value == "" or is_iso_8601(str(value).strip())


def is_json_string(value: Any) -> bool:
    try:
        json.loads(value or "null")
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
    "expiration": is_expiration,
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
