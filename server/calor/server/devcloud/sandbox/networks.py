"""Networks: each a namespace with one bridge; servers and routers are plugged into it by veth pairs.

Every pair is made from inside the network's namespace with its other end put straight into the peer's: the host's
own namespace never sees a device, an address or a rule.
"""

from pathlib import Path

from calor.server.devcloud.driver import DriverError, FixedIp, PortWiring
from calor.server.devcloud.sandbox import commands, firewall, names, namespaces
from calor.server.devcloud.sandbox.processes import Process

OUTSIDER = "192.0.0.8"
"""The IPv4 dummy address (RFC 7600): how this machine speaks on external networks, where it owns no address."""

_SETTINGS = {
    "bridge/bridge-nf-call-arptables": "0",
    "bridge/bridge-nf-filter-vlan-tagged": "0",
    "ipv6/conf/all/disable_ipv6": "1",
    "ipv6/conf/default/disable_ipv6": "1",
    "ipv4/ip_forward": "0",
}


class Networks:
    """The namespaces of all networks below ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, network_id: str) -> Path:
        return self._folder / names.device("n", network_id)

    async def ensure(self, network_id: str, *, external: bool, mtu: int) -> None:
        path = self.path(network_id)
        namespaces.create(path, _SETTINGS)
        if "br0" not in {link["ifname"] for link in await commands.ip_show(path, "link")}:
            await self._load_filter(path)  # before there is a bridge: whoever dies in between leaves no open one
            await commands.ip(path, ["link set lo up", "link add br0 type bridge forward_delay 0 mcast_snooping 0"])
        lines = [f"link set br0 mtu {int(mtu)} up"]
        if external:
            lines += [f"address replace {OUTSIDER}/32 dev br0", f"route replace default dev br0 src {OUTSIDER}"]
        await commands.ip(path, lines)

    async def remove(self, network_id: str) -> None:
        namespaces.remove(self.path(network_id))

    async def set_rules(self, port: PortWiring) -> None:
        await commands.nft(self._existing(port.network_id), firewall.port(port))

    async def plug(self, port: PortWiring, server: Process, device: str, metric: int) -> None:
        """Connect a sandbox's new device and give it its addresses."""
        await self.wire(port, str(server.pid), f"{device} address {port.mac}")
        await commands.ip(server.namespace("net"), addressing(port, device, metric))

    async def wire(self, port: PortWiring, namespace: str, device: str) -> None:
        """A new device in the namespace (as ``ip`` names it) leads to the network. Its rules are there before its first
        frame. ``device``: its name, and what else ``ip link add`` shall know of it."""
        network = self._existing(port.network_id)
        outer = names.device("p", port.port_id)
        await commands.nft(network, firewall.port(port))
        mtu = f"mtu {int(port.mtu)}"
        await commands.ip(
            network,
            [
                f"link add {outer} {mtu} type veth peer name {device} {mtu} netns {namespace}",
                f"link set {outer} master br0 up",
            ],
        )

    async def has(self, port: PortWiring) -> bool:
        links = await commands.ip_show(self._existing(port.network_id), "link")
        return names.device("p", port.port_id) in {link["ifname"] for link in links}

    async def unplug(self, network_id: str, port_id: str) -> None:
        """Also where the server, the device or the network is gone already."""
        path = self.path(network_id)
        if not namespaces.exists(path):
            return
        outer = names.device("p", port_id)
        await commands.delete_link(path, outer)
        await commands.nft(path, firewall.without_port(port_id))

    def _existing(self, network_id: str) -> Path:
        path = self.path(network_id)
        if not namespaces.exists(path):
            raise DriverError(f"Network {network_id} is not there on this machine.")
        return path

    async def _load_filter(self, path: Path) -> None:
        """The states by whatever way this kernel has, then the frame of rules that ports are put into."""
        try:
            await commands.nft(path, firewall.BRIDGE_STATES)
            in_bridge = True
        except DriverError:
            in_bridge = False
        if not in_bridge:
            try:
                namespaces.inside(path, lambda: Path("/proc/sys/net/bridge/bridge-nf-call-iptables").stat())
            except FileNotFoundError as exc:
                raise DriverError(
                    "Security groups need a kernel that tracks connections on bridges: CONFIG_NF_CONNTRACK_BRIDGE "
                    "(modprobe nf_conntrack_bridge) or br_netfilter (modprobe br_netfilter)."
                ) from exc
            await commands.nft(path, firewall.IP_STATES)
        shown = "0" if in_bridge else "1"
        keys = ("bridge/bridge-nf-call-iptables", "bridge/bridge-nf-call-ip6tables")
        namespaces.configure(path, dict.fromkeys(keys, shown))
        await commands.nft(path, firewall.BASE)


def addressing(port: PortWiring, device: str, metric: int) -> list[str]:
    """ip commands for the server's end: addresses first, so that coming up announces them."""
    lines = [_address(each, device) for each in port.fixed_ips]
    lines.append(f"link set {device} up")
    for fixed in port.fixed_ips:
        if fixed.gateway:
            lines.append(f"route replace default via {fixed.gateway} dev {device} metric {metric} onlink")
        lines += [f"route replace {to} via {hop} dev {device} metric {metric}" for to, hop in fixed.routes]
    return lines


def _address(fixed: FixedIp, device: str) -> str:
    extra = " nodad" if ":" in fixed.address else ""
    return f"address replace {fixed.address}/{int(fixed.prefix)} dev {device}{extra}"
