"""Routers: each a namespace with a leg in every network it connects, source NAT and floating IPs."""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path

from calor.server.devcloud.driver import DriverError, RouterWiring
from calor.server.devcloud.sandbox import commands, names, namespaces
from calor.server.devcloud.sandbox.networks import OUTSIDER, Networks

_SETTINGS = {
    "ipv4/ip_forward": "1",
    "ipv6/conf/all/forwarding": "1",
    "ipv6/conf/default/accept_dad": "0",
    "ipv4/conf/default/arp_notify": "1",
    "ipv4/conf/all/arp_ignore": "1",
    "ipv4/conf/all/arp_announce": "2",
}
_HAIRPIN = 7


class Routers:
    """The namespaces of all routers below ``folder``."""

    def __init__(self, folder: Path, networks: Networks) -> None:
        self._folder = folder
        self._networks = networks

    def path(self, router_id: str) -> Path:
        return self._folder / names.device("t", router_id)

    async def ensure(self, router: RouterWiring) -> None:
        """Make the router as told: new legs are plugged, others unplugged; addresses, routes, rules replaced."""
        path = self.path(router.router_id)
        if namespaces.create(path, _SETTINGS):
            await commands.ip(path, ["link set lo up"])
        wanted = _addresses(router)
        present = {link["ifname"] for link in await commands.ip_show(path, "link")} - {"lo"}
        for device in sorted(present - wanted.keys()):
            await commands.delete_link(path, device)
        for device, network_id in _legs(router):
            network = self._network(router.router_id, network_id)
            outer = names.device("r", router.router_id, network_id)
            if device not in present:
                await _make_leg(network, outer, path, device)
            await commands.ip(network, [f"link set {outer} master br0 up"])
            await commands.ip(path, [f"link set {device} up"])
        await self._settle_addresses(path, wanted)
        await commands.ip(path, _routes(router))
        await commands.nft(path, nat(router))

    async def remove(self, router_id: str) -> None:
        namespaces.remove(self.path(router_id))

    def _network(self, router_id: str, network_id: str) -> Path:
        network = self._networks.path(network_id)
        if not namespaces.exists(network):
            raise DriverError(f"Router {router_id}: network {network_id} is not there on this machine.")
        return network

    async def _settle_addresses(self, path: Path, wanted: dict[str, set[str]]) -> None:
        lines: list[str] = []
        for link in await commands.ip_show(path, "address"):
            device = link["ifname"]
            have = {f"{each['local']}/{each['prefixlen']}" for each in link["addr_info"] if each["scope"] == "global"}
            want = wanted.get(device, set())
            lines += [f"address delete {each} dev {device}" for each in sorted(have - want) if device != "lo"]
            lines += [f"address add {each} dev {device}" for each in sorted(want - have)]
        await commands.ip(path, lines)


async def _make_leg(network: Path, outer: str, router: Path, device: str) -> None:
    links = await commands.ip_show(network, "link")
    mtu = next(link["mtu"] for link in links if link["ifname"] == "br0")
    if outer in {link["ifname"] for link in links}:
        await commands.delete_link(network, outer)
    pair = f'link add {outer} mtu {mtu} type veth peer name {device} mtu {mtu} netns "{router}"'
    await commands.ip(network, [pair])


def nat(router: RouterWiring) -> str:
    """Source NAT and floating IPs of a router. Pure."""
    before: list[str] = []
    after: list[str] = []
    if router.external:
        network_id, address, _prefix = router.external
        device = names.device("x", network_id)
        for floating, fixed in router.floating:
            outer, inner = ip_address(floating), ip_address(fixed)
            before.append(f'ip daddr {outer} iifname != "{device}" meta mark set {_HAIRPIN}')
            before.append(f"ip daddr {outer} dnat to {inner}")
            after.append(f'oifname "{device}" ip saddr {inner} snat to {outer}')
        after.append(f"meta mark {_HAIRPIN} masquerade")
        if router.snat:
            legs = ", ".join(
                sorted(
                    str(ip_network(f"{leg}/{size}", strict=False)) for _n, leg, size in router.legs if ":" not in leg
                )
            )
            if legs and ":" not in address:
                after.append(f'oifname "{device}" ip saddr {{ {legs} }} snat to {ip_address(address)}')
    return "\n".join(
        [
            "add table ip calor",
            "flush table ip calor",
            "add chain ip calor before { type nat hook prerouting priority dstnat; }",
            "add chain ip calor after { type nat hook postrouting priority srcnat; }",
            *(f"add rule ip calor before {rule}" for rule in before),
            *(f"add rule ip calor after {rule}" for rule in after),
            "",
        ]
    )


def _legs(router: RouterWiring) -> Iterator[tuple[str, str]]:
    """Device and network of each leg, the external one last."""
    seen: set[str] = set()
    for network_id, _address, _prefix in router.legs:
        if network_id not in seen:
            seen.add(network_id)
            yield names.device("l", network_id), network_id
    if router.external:
        yield names.device("x", router.external[0]), router.external[0]


def _addresses(router: RouterWiring) -> dict[str, set[str]]:
    wanted: dict[str, set[str]] = {}
    for network_id, address, prefix in router.legs:
        wanted.setdefault(names.device("l", network_id), set()).add(f"{ip_address(address)}/{int(prefix)}")
    if router.external:
        network_id, address, prefix = router.external
        floating = {f"{ip_address(each)}/32" for each, _fixed in router.floating}
        wanted[names.device("x", network_id)] = {f"{ip_address(address)}/{int(prefix)}", *floating}
    return wanted


def _routes(router: RouterWiring) -> list[str]:
    lines = ["route flush proto 77"]
    if router.external:
        device = names.device("x", router.external[0])
        lines += [f"route replace {each} dev {device} proto 77" for each in (f"{OUTSIDER}/32", "default")]
    lines += [f"route replace {ip_network(to)} via {ip_address(hop)} proto 77" for to, hop in router.routes]
    return lines
