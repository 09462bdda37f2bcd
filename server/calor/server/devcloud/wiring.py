"""From the APIs' documents to what a driver is told. Pure reading."""

import base64
from collections.abc import Iterable
from pathlib import Path

from calor.server.devcloud.cloud import Cloud
from calor.server.devcloud.documents import Doc, Documents
from calor.server.devcloud.driver import FixedIp, PortWiring, RouterWiring, Rule, ServerSpec, VolumeWiring

ANYWHERE = {"IPv4": "0.0.0.0/0", "IPv6": "::/0"}


class Groups:
    """All security groups at one moment, resolved once: rules by group, with members' addresses in them."""

    def __init__(self, docs: Documents) -> None:
        self._members: dict[str, list[str]] = {}
        for port in docs.all("port"):
            for group in port["security_groups"]:
                self._members.setdefault(group, []).extend(fixed["ip_address"] for fixed in port["fixed_ips"])
        self._rules: dict[str, list[Rule]] = {}
        for rule in docs.all("security_group_rule"):
            self._rules.setdefault(rule["security_group_id"], []).append(self._resolved(rule))

    def rules(self, groups: Iterable[str]) -> tuple[Rule, ...]:
        return tuple(rule for group in groups for rule in self._rules.get(group, ()))

    def _resolved(self, rule: Doc) -> Rule:
        return Rule(
            direction=rule["direction"],
            ethertype=rule["ethertype"],
            protocol=rule["protocol"],
            port_min=rule["port_range_min"],
            port_max=rule["port_range_max"],
            remotes=self._remotes(rule),
        )

    def _remotes(self, rule: Doc) -> tuple[str, ...]:
        if not rule["remote_group_id"]:
            return (rule["remote_ip_prefix"] or ANYWHERE[rule["ethertype"]],)
        version, length = (4, 32) if rule["ethertype"] == "IPv4" else (6, 128)
        members = self._members.get(rule["remote_group_id"], ())
        return tuple(f"{one}/{length}" for one in members if (":" in one) == (version == 6))


def port_wiring(docs: Documents, port: Doc, groups: Groups | None = None) -> PortWiring:
    """``groups`` spares resolving the rules anew for each of many ports."""
    network = docs.get("network", port["network_id"]) or {}
    guarded = port["port_security_enabled"]
    return PortWiring(
        port_id=port["id"],
        network_id=port["network_id"],
        mac=port["mac_address"],
        fixed_ips=tuple(_fixed_ip(docs, fixed) for fixed in port["fixed_ips"]),
        mtu=network.get("mtu", 1450),
        rules=(groups or Groups(docs)).rules(port["security_groups"]) if guarded else None,
        allowed_pairs=tuple((pair["ip_address"], pair["mac_address"]) for pair in port["allowed_address_pairs"]),
    )


def _fixed_ip(docs: Documents, fixed: Doc) -> FixedIp:
    subnet = docs.get("subnet", fixed["subnet_id"]) or {}
    return FixedIp(
        address=fixed["ip_address"],
        prefix=int(subnet["cidr"].partition("/")[2]),
        gateway=subnet["gateway_ip"],
        dns=tuple(subnet["dns_nameservers"]),
        routes=tuple((route["destination"], route["nexthop"]) for route in subnet["host_routes"]),
    )


def router_wiring(docs: Documents, router: Doc) -> RouterWiring:
    inside, outside = [], None
    for port in docs.where("port", device_id=router["id"]):
        for fixed in port["fixed_ips"]:
            subnet = docs.get("subnet", fixed["subnet_id"])
            if subnet is None:
                continue
            leg = (port["network_id"], fixed["ip_address"], int(subnet["cidr"].partition("/")[2]))
            if port["device_owner"] == "network:router_gateway":
                outside = outside or leg
            else:
                inside.append(leg)
    gateway = router["external_gateway_info"] or {}
    floating = docs.where("floatingip", router_id=router["id"])
    return RouterWiring(
        router_id=router["id"],
        legs=tuple(inside),
        external=outside,
        snat=bool(gateway.get("enable_snat", True)),
        floating=tuple((each["floating_ip_address"], each["fixed_ip_address"]) for each in floating),
        routes=tuple((route["destination"], route["nexthop"]) for route in router["routes"]),
    )


def server_ports(docs: Documents, server: Doc) -> list[Doc]:
    """In the order of the create call, then of plugging."""
    order = {ident: place for place, ident in enumerate(server["port_ids"])}
    ports = docs.where("port", device_id=server["id"])
    return sorted(ports, key=lambda port: order.get(port["id"], len(order)))


def volume_wiring(cloud: Cloud, attachment: Doc) -> VolumeWiring:
    ident = attachment["volume_id"]
    return VolumeWiring(volume_id=ident, path=cloud.volumes / ident, device=attachment["device"])


def image_path(cloud: Cloud, image: Doc) -> Path | None:
    """The tree that a sandbox boots from, or the uploaded file, or None for a record's sake."""
    at_hand = cloud.image_paths.get(image["name"]) if image.get("builtin") else None
    if at_hand is not None:
        return at_hand
    uploaded = cloud.images / image["id"]
    return uploaded if uploaded.exists() else None


def server_spec(cloud: Cloud, server: Doc) -> ServerSpec:
    docs = cloud.docs
    image = docs.get("image", server["boot_image_id"] or "") or {"id": "", "name": "", "properties": {}}
    attachments = [one for one in docs.where("attachment", server_id=server["id"]) if one["status"] != "detaching"]
    return ServerSpec(
        id=server["id"],
        name=server["name"],
        hostname=server["hostname"],
        image_id=image["id"],
        image_path=image_path(cloud, image),
        image_properties=image["properties"],
        image_format=image.get("disk_format"),
        vcpus=server["flavor"]["vcpus"],
        ram_mb=server["flavor"]["ram"],
        disk_gb=server["flavor"]["disk"],
        key_name=server["key_name"],
        public_key=server["public_key"],
        admin_pass=server["admin_pass"],
        ports=tuple(port_wiring(docs, port) for port in server_ports(docs, server)),
        volumes=tuple(volume_wiring(cloud, each) for each in attachments),
        files=tuple((one["path"], base64.b64decode(one["contents"])) for one in server["files"]),
        created_at=server["created"],
    )
