"""A server's JSON, by microversion."""

import hashlib
import ipaddress

from calor.server.devcloud.calls import Call, now
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.nova import states
from calor.server.devcloud.nova.microversions import asked
from calor.server.devcloud.wiring import server_ports

HOST = "calor-dev"


def links(call: Call, ident: str) -> list[Doc]:
    return [
        {"rel": "self", "href": call.url(f"/compute/v2.1/servers/{ident}")},
        {"rel": "bookmark", "href": call.url(f"/compute/servers/{ident}")},
    ]


def brief(call: Call, server: Doc) -> Doc:
    return {"id": server["id"], "name": server["name"], "links": links(call, server["id"])}


def addresses(call: Call, server: Doc) -> dict[str, list[Doc]]:
    found: dict[str, list[Doc]] = {}
    for port in server_ports(call.docs, server):
        network = call.docs.get("network", port["network_id"]) or {"name": port["network_id"]}
        listed = found.setdefault(network["name"], [])
        for fixed in port["fixed_ips"]:
            listed.append(_address(fixed["ip_address"], "fixed", port["mac_address"]))
            listed += [
                _address(floating["floating_ip_address"], "floating", port["mac_address"])
                for floating in call.docs.where("floatingip", port_id=port["id"])
                if floating["fixed_ip_address"] == fixed["ip_address"]
            ]
    return found


def _address(text: str, kind: str, mac: str) -> Doc:
    version = ipaddress.ip_address(text).version
    return {"version": version, "addr": text, "OS-EXT-IPS:type": kind, "OS-EXT-IPS-MAC:mac_addr": mac}


def detail(call: Call, server: Doc) -> Doc:
    version = asked(call)
    status = states.status(server)
    body = {
        **brief(call, server),
        "status": status,
        "tenant_id": server["project_id"],
        "user_id": server["user_id"],
        "metadata": server["metadata"],
        "hostId": hashlib.sha224((server["project_id"] + HOST).encode()).hexdigest() if server["host"] else "",
        "image": _image(call, server),
        "flavor": _flavor(call, server),
        "created": server["created"],
        "updated": server["updated"],
        "addresses": addresses(call, server),
        "accessIPv4": server["accessIPv4"],
        "accessIPv6": server["accessIPv6"],
        "OS-DCF:diskConfig": server["disk_config"],
        "OS-EXT-AZ:availability_zone": server["availability_zone"],
        "config_drive": server["config_drive"],
        "key_name": server["key_name"],
        "OS-SRV-USG:launched_at": server["launched_at"],
        "OS-SRV-USG:terminated_at": None,
        "OS-EXT-STS:task_state": server["task_state"],
        "OS-EXT-STS:vm_state": server["vm_state"],
        "OS-EXT-STS:power_state": states.power(server),
        "os-extended-volumes:volumes_attached": _volumes(call, server),
    }
    groups = security_group_names(call, server)
    if groups:
        body["security_groups"] = [{"name": name} for name in groups]
    if status in ("BUILD", "ACTIVE", "REBUILD", "RESIZE", "VERIFY_RESIZE", "REBOOT", "HARD_REBOOT"):
        body["progress"] = 0 if status == "BUILD" else 100 if version < (2, 1) else 0
    if server["fault"] and status == "ERROR":
        body["fault"] = {
            key: value for key, value in server["fault"].items() if key != "details" or call.token.is_admin
        }
    body.update(_newer(server, version))
    if call.token.is_admin:
        body.update(_for_admins(server))
    return body


def _newer(server: Doc, version: tuple[int, int]) -> Doc:
    since = {
        (2, 9): {"locked": server["locked"]},
        (2, 19): {"description": server["description"]},
        (2, 26): {"tags": server["tags"]},
        (2, 63): {"trusted_image_certificates": None},
        (2, 71): {"server_groups": server["server_groups"]},
        (2, 73): {"locked_reason": None},
    }
    return {key: value for at, extra in since.items() if version >= at for key, value in extra.items()}


def _for_admins(server: Doc) -> Doc:
    return {
        "OS-EXT-SRV-ATTR:host": HOST if server["host"] else None,
        "OS-EXT-SRV-ATTR:hypervisor_hostname": HOST if server["host"] else None,
        "OS-EXT-SRV-ATTR:instance_name": f"instance-{server['id'][:8]}",
        "OS-EXT-SRV-ATTR:hostname": server["hostname"],
        "OS-EXT-SRV-ATTR:user_data": server["user_data"],
        "OS-EXT-SRV-ATTR:launch_index": 0,
    }


def _image(call: Call, server: Doc) -> Doc | str:
    ident = server["image_id"]
    if not ident:
        return ""
    return {"id": ident, "links": [{"rel": "bookmark", "href": call.url(f"/compute/images/{ident}")}]}


def _flavor(call: Call, server: Doc) -> Doc:
    flavor = server["flavor"]
    if asked(call) < (2, 47):
        link = {"rel": "bookmark", "href": call.url(f"/compute/flavors/{flavor['id']}")}
        return {"id": flavor["id"], "links": [link]}
    return {
        "vcpus": flavor["vcpus"],
        "ram": flavor["ram"],
        "disk": flavor["disk"],
        "ephemeral": flavor["ephemeral"],
        "swap": flavor["swap"],
        "original_name": flavor["name"],
        "extra_specs": flavor["extra_specs"],
    }


def _volumes(call: Call, server: Doc) -> list[Doc]:
    attached = call.docs.where("attachment", server_id=server["id"])
    if asked(call) < (2, 3):
        return [{"id": one["volume_id"]} for one in attached]
    return [{"id": one["volume_id"], "delete_on_termination": one["delete_on_termination"]} for one in attached]


def security_group_names(call: Call, server: Doc) -> list[str]:
    idents = {ident for port in server_ports(call.docs, server) for ident in port["security_groups"]}
    return sorted(group["name"] for ident in idents if (group := call.docs.get("security_group", ident)))


def touched(server: Doc, **fields: object) -> Doc:
    return {**server, **fields, "updated": now()}
