"""nftables rules of a network's bridge: who may send what. Pure: wiring in, text out.

Frames are looked at on the bridge, outside of every sandbox. A port's *guard* drops what does not carry its own
addresses, *out* holds its egress rules, *in* its ingress rules. Connection states arrive as packet marks, set either
by connection tracking of the bridge family or, where the kernel has none, by the IP hooks of br_netfilter.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network

from calor.server.devcloud.driver import DriverError, PortWiring, Rule
from calor.server.devcloud.sandbox import names

_KNOWN, _NEW, _INVALID = 1, 2, 3
_MAC = re.compile(r"([0-9a-f]{2}:){5}[0-9a-f]{2}")
_PROTOCOLS = {
    "icmp": 1, "igmp": 2, "ipip": 4, "tcp": 6, "egp": 8, "udp": 17, "dccp": 33, "ipv6-encap": 41, "ipv6-route": 43,
    "ipv6-frag": 44, "rsvp": 46, "gre": 47, "esp": 50, "ah": 51, "icmpv6": 58, "ipv6-icmp": 58, "ipv6-nonxt": 59,
    "ipv6-opts": 60, "ospf": 89, "vrrp": 112, "pgm": 113, "sctp": 132, "udplite": 136,
}  # fmt: skip
_ANY_PROTOCOL = (None, "any", "0", "")
_WITH_PORTS = (6, 17, 33, 132, 136)

STATES = f"""\
    ct state established,related meta mark set {_KNOWN} return
    ct state invalid meta mark set {_INVALID} return
    meta mark set {_NEW}
"""

BRIDGE_STATES = f"""\
add table bridge calor-states
flush table bridge calor-states
table bridge calor-states {{
  chain forward {{
    type filter hook forward priority -10; policy accept;
{STATES}
  }}
}}
"""
"""Where the kernel tracks connections on bridges."""

IP_STATES = f"""\
add table inet calor-states
flush table inet calor-states
table inet calor-states {{
  chain forward {{
    type filter hook forward priority 0; policy accept;
{STATES}
  }}
}}
"""
"""Where br_netfilter shows bridged packets to the IP hooks."""

BASE = f"""\
add table bridge calor
table bridge calor {{
  map guards {{ type ifname : verdict; }}
  map outs {{ type ifname : verdict; }}
  map ins {{ type ifname : verdict; }}
  chain prerouting {{ type filter hook prerouting priority -400; policy accept; }}
  chain forward {{ type filter hook forward priority 10; policy drop; }}
}}
flush chain bridge calor prerouting
flush chain bridge calor forward
table bridge calor {{
  chain prerouting {{
    iifname vmap @guards
    iifname "p*" drop
  }}
  chain forward {{
    ether type arp accept
    meta mark {_KNOWN} accept
    iifname vmap @outs
    oifname vmap @ins
    accept
  }}
}}
"""


def port(wiring: PortWiring) -> str:
    """Makes or replaces all that concerns one port."""
    device = names.device("p", wiring.port_id)
    parts = (
        ("guard", "guards", _guard(wiring)),
        ("out", "outs", _rules(wiring.rules, "egress")),
        ("in", "ins", _rules(wiring.rules, "ingress")),
    )
    lines: list[str] = []
    for kind, table_map, rules in parts:
        chain = names.chain(kind, wiring.port_id)
        lines += [f"add chain bridge calor {chain}", f"flush chain bridge calor {chain}"]
        lines += [f"add rule bridge calor {chain} {rule}" for rule in rules]
        lines.append(f'add element bridge calor {table_map} {{ "{device}" : jump {chain} }}')
    return "\n".join(lines) + "\n"


def without_port(port_id: str) -> str:
    """Removes a port's rules, also where only some or none are there."""
    device = names.device("p", port_id)
    lines: list[str] = []
    for kind, table_map in (("guard", "guards"), ("out", "outs"), ("in", "ins")):
        chain = names.chain(kind, port_id)
        element = f'{table_map} {{ "{device}" : jump {chain} }}'
        lines += [f"add chain bridge calor {chain}", f"add element bridge calor {element}"]
        lines += [f'delete element bridge calor {table_map} {{ "{device}" }}', f"delete chain bridge calor {chain}"]
    return "\n".join(lines) + "\n"


def _guard(wiring: PortWiring) -> Iterator[str]:
    if wiring.rules is None:
        yield "accept"
        return
    pairs = [(each.address, wiring.mac) for each in wiring.fixed_ips]
    pairs += [(address, mac or wiring.mac) for address, mac in wiring.allowed_pairs]
    macs = ", ".join(sorted({_mac(mac) for _address, mac in pairs} | {_mac(wiring.mac)}))
    yield f"ether saddr != {{ {macs} }} drop"
    v4, v6 = _by_version(address for address, _mac_address in pairs)
    yield f"ether type arp arp saddr ether != {{ {macs} }} drop"
    yield "ether type arp arp operation request arp saddr ip 0.0.0.0 accept"
    if v4:
        yield f"ether type arp arp saddr ip {_set(v4)} accept"
        yield f"ether type ip ip saddr {_set(v4)} accept"
    if v6:
        yield "ether type ip6 icmpv6 type { nd-router-advert, nd-redirect } drop"
        yield f"ether type ip6 ip6 saddr {_set(v6)} accept"
    yield "drop"


def _rules(rules: Sequence[Rule] | None, direction: str) -> Iterator[str]:
    if rules is None:
        yield "return"
        return
    yield f"meta mark {_INVALID} drop"
    yield "ether type ip6 icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } return"
    for rule in rules:
        if rule.direction == direction:
            yield from _rule(rule)
    yield "drop"


def _rule(rule: Rule) -> Iterator[str]:
    """Nothing for a rule whose remote group has no member."""
    family, version = ("ip", 4) if rule.ethertype == "IPv4" else ("ip6", 6)
    remotes = _by_version(rule.remotes)[0 if version == 4 else 1]
    if not remotes:
        return
    parts = [f"ether type {family}"]
    if all(each.prefixlen for each in remotes):
        parts.append(f"{family} {'saddr' if rule.direction == 'ingress' else 'daddr'} {_set(remotes)}")
    parts += _protocol(rule)
    yield " ".join([*parts, "return"])


def _protocol(rule: Rule) -> list[str]:
    if rule.protocol in _ANY_PROTOCOL:
        return []
    name = str(rule.protocol).lower()
    number = int(name) if name.isdigit() else _PROTOCOLS.get(name)
    if number is None:
        raise DriverError(f"Security group rule: protocol {rule.protocol!r} is not known.")
    if number == 1 and rule.ethertype == "IPv6":
        number = 58  # Neutron takes "icmp" in an IPv6 rule for ICMPv6
    parts = [f"meta l4proto {number}"]
    if rule.port_min is not None and number in (1, 58):
        word = "icmp" if number == 1 else "icmpv6"
        parts.append(f"{word} type {int(rule.port_min)}")
        parts += [f"{word} code {int(rule.port_max)}"] if rule.port_max is not None else []
    elif number in _WITH_PORTS and (rule.port_min is not None or rule.port_max is not None):
        low = 0 if rule.port_min is None else int(rule.port_min)
        high = 65535 if rule.port_max is None else int(rule.port_max)
        parts.append(f"th dport {low}-{high}" if low != high else f"th dport {low}")
    return parts


def _by_version(texts: Iterable[str]) -> tuple[list[IPv4Network], list[IPv6Network]]:
    """Without overlaps, which nftables refuses."""
    networks = [ip_network(text, strict=False) for text in texts]
    return (
        list(collapse_addresses(each for each in networks if isinstance(each, IPv4Network))),
        list(collapse_addresses(each for each in networks if isinstance(each, IPv6Network))),
    )


def _set(networks: Sequence[IPv4Network] | Sequence[IPv6Network]) -> str:
    return "{ " + ", ".join(str(each) for each in networks) + " }"


def _mac(text: str) -> str:
    mac = text.lower()
    if not _MAC.fullmatch(mac):
        raise DriverError(f"{text!r} is no MAC address.")
    return mac
