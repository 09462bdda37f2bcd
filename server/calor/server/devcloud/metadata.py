"""The metadata service's documents, in OpenStack's and EC2's formats, made from a server's record."""

import base64
import ipaddress
import json
from typing import Any

from calor.server.devcloud.cloud import Cloud
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.driver import GuestDocument
from calor.server.devcloud.wiring import server_ports

OPENSTACK_VERSIONS = (
    "2012-08-10", "2013-04-04", "2013-10-17", "2015-10-15", "2016-06-30", "2016-10-06", "2017-02-22", "2018-08-27",
    "2020-10-14",
)  # fmt: skip
EC2_VERSIONS = ("1.0", "2007-01-19", "2008-02-01", "2009-04-04")


class MetadataDocuments:
    """Answers by path, as the service behind 169.254.169.254 does."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def get(self, server_id: str, path: str) -> GuestDocument | None:
        server = self._cloud.docs.get("server", server_id)
        if server is None:
            return None
        parts = [part for part in path.split("?")[0].split("/") if part]
        if not parts:
            return _text("\n".join((*EC2_VERSIONS, "latest")))
        if parts[0] == "openstack":
            return self._openstack(server, parts[1:])
        if parts[0] in (*EC2_VERSIONS, "latest"):
            return self._ec2(server, parts[1:])
        return None

    def _openstack(self, server: Doc, parts: list[str]) -> GuestDocument | None:
        if not parts:
            return _text("\n".join((*OPENSTACK_VERSIONS, "latest")))
        if parts[0] not in (*OPENSTACK_VERSIONS, "latest"):
            return None
        user_data = _user_data(server)
        if len(parts) == 1:
            names = ["meta_data.json", "password", "vendor_data.json", "network_data.json", "vendor_data2.json"]
            return _text("\n".join(names + (["user_data"] if user_data is not None else [])))
        if parts[1] == "user_data":
            return None if user_data is None else GuestDocument(body=user_data, content_type="application/octet-stream")
        if parts[1] == "password":
            return _text("")
        documents = {
            "meta_data.json": self._meta_data,
            "network_data.json": self._network_data,
            "vendor_data.json": _no_vendor_data,
            "vendor_data2.json": _no_dynamic_vendor_data,
        }
        make = documents.get(parts[1])
        if make is None or len(parts) > 2:
            return None
        return GuestDocument(body=json.dumps(make(server)).encode(), content_type="application/json")

    def _meta_data(self, server: Doc) -> Doc:
        body: Doc = {
            "uuid": server["id"],
            "name": server["name"],
            "hostname": f"{server['hostname']}.novalocal",
            "launch_index": 0,
            "availability_zone": server["availability_zone"],
            "project_id": server["project_id"],
            "random_seed": base64.b64encode(server["id"].encode() * 14).decode(),
            "meta": server["metadata"],
            "devices": [],
            "dedicated_cpus": [],
            "admin_pass": server["admin_pass"],
        }
        if server["public_key"]:
            body["public_keys"] = {server["key_name"]: server["public_key"]}
            body["keys"] = [{"name": server["key_name"], "type": "ssh", "data": server["public_key"]}]
        return body

    def _network_data(self, server: Doc) -> Doc:
        docs = self._cloud.docs
        links, networks, services = [], [], []
        for number, port in enumerate(server_ports(docs, server)):
            network = docs.get("network", port["network_id"]) or {}
            links.append(
                {
                    "id": f"tap{port['id'][:11]}",
                    "vif_id": port["id"],
                    "type": "ovs",
                    "mtu": network.get("mtu", 1450),
                    "ethernet_mac_address": port["mac_address"],
                }
            )
            for fixed in port["fixed_ips"]:
                subnet = docs.get("subnet", fixed["subnet_id"])
                if subnet is not None:
                    networks.append(_network(f"network{number}", port, fixed, subnet))
                    services += [{"type": "dns", "address": address} for address in subnet["dns_nameservers"]]
        return {"links": links, "networks": networks, "services": services}

    def _ec2(self, server: Doc, parts: list[str]) -> GuestDocument | None:
        user_data = _user_data(server)
        if not parts:
            return _text("meta-data/" + ("\nuser-data" if user_data is not None else ""))
        if parts[0] == "user-data":
            return None if user_data is None else GuestDocument(body=user_data, content_type="application/octet-stream")
        if parts[0] != "meta-data":
            return None
        node: Any = self._ec2_tree(server)
        for part in parts[1:]:
            if not isinstance(node, dict):
                return None
            node = node.get(part, node.get(part.partition("=")[0]))
            if node is None:
                return None
        return _text(_ec2_listing(node) if isinstance(node, dict) else str(node))

    def _ec2_tree(self, server: Doc) -> Doc:
        docs = self._cloud.docs
        ports = server_ports(docs, server)
        fixed = [one["ip_address"] for port in ports for one in port["fixed_ips"]]
        floating = [
            one["floating_ip_address"] for port in ports for one in docs.where("floatingip", port_id=port["id"])
        ]
        groups = {ident for port in ports for ident in port["security_groups"]}
        names = sorted(group["name"] for ident in groups if (group := docs.get("security_group", ident)))
        tree = {
            "ami-id": "ami-" + server["boot_image_id"][:8],
            "ami-launch-index": "0",
            "block-device-mapping": {"ami": "vda", "root": "/dev/vda"},
            "hostname": f"{server['hostname']}.novalocal",
            "instance-action": "none",
            "instance-id": "i-" + server["id"].replace("-", "")[:8],
            "instance-type": server["flavor"]["name"],
            "local-hostname": f"{server['hostname']}.novalocal",
            "local-ipv4": next((one for one in fixed if ipaddress.ip_address(one).version == 4), ""),
            "placement": {"availability-zone": server["availability_zone"]},
            "public-hostname": f"{server['hostname']}.novalocal",
            "public-ipv4": floating[0] if floating else "",
            "reservation-id": "r-" + server["id"].replace("-", "")[-8:],
            "security-groups": "\n".join(names),
        }
        if server["public_key"]:
            key = {"_name": "0=" + server["key_name"], "openssh-key": server["public_key"]}
            tree["public-keys"] = {"0": key}
        return tree


def _no_vendor_data(server: Doc) -> Doc:
    return {}


def _no_dynamic_vendor_data(server: Doc) -> Doc:
    return {"static": {}}


def _ec2_listing(node: Doc) -> str:
    """A folder's entries; folders end in a slash, a key shows its name."""
    rows = []
    for key, value in node.items():
        if key == "_name":
            continue
        if isinstance(value, dict):
            rows.append(value["_name"] if "_name" in value else key + "/")
        else:
            rows.append(key)
    return "\n".join(rows)


def _network(ident: str, port: Doc, fixed: Doc, subnet: Doc) -> Doc:
    net = ipaddress.ip_network(subnet["cidr"])
    routes = [
        {"network": str(ipaddress.ip_network(one["destination"]).network_address),
         "netmask": str(ipaddress.ip_network(one["destination"]).netmask), "gateway": one["nexthop"]}
        for one in subnet["host_routes"]
    ]  # fmt: skip
    if subnet["gateway_ip"]:
        anywhere = "0.0.0.0" if net.version == 4 else "::"  # noqa: S104 - a route's destination
        routes.append({"network": anywhere, "netmask": anywhere, "gateway": subnet["gateway_ip"]})
    return {
        "id": ident,
        "type": f"ipv{net.version}",
        "link": f"tap{port['id'][:11]}",
        "ip_address": fixed["ip_address"],
        "netmask": str(net.netmask),
        "routes": routes,
        "network_id": port["network_id"],
        "services": [{"type": "dns", "address": address} for address in subnet["dns_nameservers"]],
    }


def _user_data(server: Doc) -> bytes | None:
    return None if server["user_data"] is None else base64.b64decode(server["user_data"])


def _text(text: str) -> GuestDocument:
    return GuestDocument(body=text.encode())
