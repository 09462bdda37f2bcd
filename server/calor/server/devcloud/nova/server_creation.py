"""``POST /servers``: what is asked is checked as a whole, then written down; a task lets it run."""

import base64
import re
from typing import Any

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Call, new_id, new_password, now
from calor.server.devcloud.cinder.volumes import make as make_volume
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.faults import fate
from calor.server.devcloud.neutron import ports
from calor.server.devcloud.neutron.security_groups import default_group
from calor.server.devcloud.nova import keypairs
from calor.server.devcloud.nova.attaching import attach_at_birth
from calor.server.devcloud.nova.microversions import asked
from calor.server.devcloud.nova.placing import NO_HOST, has_host
from calor.server.devcloud.tasks import enqueue

USER_DATA_LIMIT = 65535
ZONES = ("nova",)
MAX_METADATA = 128
FIELDS = frozenset(
    {"name", "hostname", "description", "imageRef", "flavorRef", "key_name", "user_data", "config_drive", "adminPass"}
    | {
        "networks",
        "security_groups",
        "accessIPv4",
        "accessIPv6",
        "metadata",
        "tags",
        "personality",
        "OS-DCF:diskConfig",
    }
    | {"availability_zone", "host", "hypervisor_hostname", "block_device_mapping", "block_device_mapping_v2"}
    | {"min_count", "max_count", "return_reservation_id", "trusted_image_certificates"}
)


def bad(message: str) -> ApiError:
    return ApiError(400, message)


def create_server(call: Call, part: Doc) -> Doc:
    """The new server, in ``BUILD``."""
    name = _name(part)
    _check_fields(part)
    flavor = _flavor(call, part)
    key = _key(call, part)
    image = _image(call, part)
    mappings = _block_devices(call, part, image)
    networks = _networks(call, part)
    groups = _groups(call, part)
    server = _document(call, part, name=name, flavor=flavor, key=key)
    server["image_id"] = image["id"] if image and not any(m.get("root") for m in mappings) else ""
    server["boot_image_id"] = image["id"] if image else _boot_image(call, mappings)
    call.docs.put("server", server)
    _plug(call, server, networks, groups)
    for mapping in mappings:
        _attach(call, server, mapping)
    enqueue(call.docs, f"server:{server['id']}", "spawn")
    return server


def _name(part: Doc) -> str:
    if "name" not in part:
        raise bad(f"Invalid input for field/attribute server. Value: {_shown(part)}. 'name' is a required property")
    name = part["name"]
    if not isinstance(name, str) or not name.strip() or len(name) > 255:
        raise bad(
            f"Invalid input for field/attribute name. Value: {name}. {name!r} is not a name of 1 to 255 characters"
        )
    return name.strip()


def _check_fields(part: Doc) -> None:
    unknown = sorted(set(part) - FIELDS)
    if unknown:
        named, were = ", ".join(map(repr, unknown)), "was" if len(unknown) == 1 else "were"
        raise bad(
            f"Invalid input for field/attribute server. Value: {_shown(part)}. "
            f"Additional properties are not allowed ({named} {were} unexpected)"
        )


def _shown(part: Doc) -> str:
    return str({key: value for key, value in part.items() if key not in ("user_data", "adminPass")})


def _flavor(call: Call, part: Doc) -> Doc:
    ident = str(part.get("flavorRef", "")).rpartition("/")[2]
    if not ident:
        raise bad(
            f"Invalid input for field/attribute server. Value: {_shown(part)}. 'flavorRef' is a required property"
        )
    flavor = call.docs.get("flavor", ident)
    if flavor is None:
        raise bad(f"Flavor {ident} could not be found.")
    return flavor


def _key(call: Call, part: Doc) -> Doc | None:
    if not part.get("key_name"):
        return None
    key = call.docs.get("keypair", keypairs.key_id(call.token.user_id, part["key_name"]))
    if key is None:
        raise bad("Invalid key_name provided.")
    return key


def _image(call: Call, part: Doc) -> Doc | None:
    ident = str(part.get("imageRef") or "").rpartition("/")[2]
    if not ident:
        return None
    image = call.docs.get("image", ident)
    if image is None or not (call.sees(image) or image["visibility"] in ("public", "community")):
        raise bad("Can not find requested image")
    if image["status"] != "active":
        raise bad(f"Image {ident} is not active.")
    return image


def check_user_data(text: Any) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > USER_DATA_LIMIT:
        raise bad(f"Invalid input for field/attribute user_data. Value: {str(text)[:80]}... is too long")
    try:
        base64.b64decode(text, validate=False)
    except ValueError as exc:
        raise bad("Invalid input for field/attribute user_data. It is not a 'base64'") from exc
    return text


def _document(call: Call, part: Doc, *, name: str, flavor: Doc, key: Doc | None) -> Doc:
    zone = str(part.get("availability_zone") or "nova")
    if zone.partition(":")[0] not in ZONES:
        raise bad("The requested availability zone is not available")
    trouble, message = fate() if has_host(call) else ("broken", NO_HOST)
    return {
        "id": new_id(),
        "name": name,
        "hostname": _hostname(name),
        "project_id": call.project_id,
        "user_id": call.token.user_id,
        "flavor": flavor,
        "old_flavor": None,
        "key_name": key["name"] if key else None,
        "public_key": key["public_key"] if key else None,
        "metadata": check_metadata(part.get("metadata") or {}),
        "tags": list(part.get("tags") or []) if asked(call) >= (2, 52) else [],
        "description": part.get("description") if asked(call) >= (2, 19) else None,
        "user_data": check_user_data(part.get("user_data")),
        "files": [dict(one) for one in part.get("personality") or []] if asked(call) < (2, 57) else [],
        "config_drive": "True" if part.get("config_drive") in (True, "true", "True", "1") else "",
        "admin_pass": part.get("adminPass") or new_password(),
        "availability_zone": zone.partition(":")[0],
        "disk_config": part.get("OS-DCF:diskConfig") or "MANUAL",
        "accessIPv4": part.get("accessIPv4") or "",
        "accessIPv6": part.get("accessIPv6") or "",
        "server_groups": [],
        "locked": False,
        "vm_state": "building",
        "task_state": "spawning",
        "host": False,
        "fault": None,
        "launched_at": None,
        "created": now(),
        "updated": now(),
        "port_ids": [],
        "own_ports": [],
        "trouble": trouble,
        "trouble_message": message,
    }


def _hostname(name: str) -> str:
    return re.sub(r"[^a-z0-9.-]+", "-", name.lower().replace("_", "-").replace(" ", "-")).strip(".-")[:63] or "server"


def check_metadata(metadata: Any) -> Doc:
    if not isinstance(metadata, dict) or len(metadata) > MAX_METADATA:
        raise bad(f"Invalid input for field/attribute metadata. At most {MAX_METADATA} items.")
    for key, value in metadata.items():
        if not isinstance(value, str) or len(value) > 255 or not 0 < len(key) <= 255:
            raise bad(
                f"Invalid input for field/attribute {key}. Value: {value}. It must be a text of at most 255 characters"
            )
    return dict(metadata)


def _networks(call: Call, part: Doc) -> list[Doc]:
    """What to plug: each a dict with ``port`` or ``network`` and perhaps ``address``."""
    wanted = part.get("networks")
    if wanted is None and asked(call) >= (2, 37):
        raise bad(f"Invalid input for field/attribute server. Value: {_shown(part)}. 'networks' is a required property")
    if wanted == "none":
        return []
    if wanted in (None, "auto", []):
        return _automatic(call)
    if not isinstance(wanted, list):
        raise bad(f"Invalid input for field/attribute networks. Value: {wanted}.")
    return [_network(call, one) for one in wanted]


def _automatic(call: Call) -> list[Doc]:
    own = [
        net for net in call.docs.all("network") if net["project_id"] == call.project_id and not net["router:external"]
    ]
    shared = [net for net in call.docs.all("network") if net["shared"] and not net["router:external"]]
    choice = [net for net in own or shared if call.docs.where("subnet", network_id=net["id"])]
    if len(choice) > 1:
        raise ApiError(409, "Multiple possible networks found, use a Network ID to be more specific.")
    return [{"network": choice[0]["id"]}] if choice else []


def _network(call: Call, one: Any) -> Doc:
    if not isinstance(one, dict):
        raise bad(f"Invalid input for field/attribute networks. Value: {one}.")
    if one.get("port"):
        port = call.docs.get("port", one["port"])
        if port is None or not call.sees(port):
            raise bad(f"Port id {one['port']} could not be found.")
        if port["device_id"]:
            raise ApiError(409, f"Port {port['id']} is still in use.")
        return {"port": port["id"]}
    network = call.docs.get("network", str(one.get("uuid")))
    if network is None or not (call.sees(network) or network["shared"]):
        raise bad(f"Network {one.get('uuid')} could not be found.")
    if not call.docs.where("subnet", network_id=network["id"]):
        raise bad(f"Network {network['id']} requires a subnet in order to boot instances on.")
    return {"network": network["id"], "address": one.get("fixed_ip")}


def _groups(call: Call, part: Doc) -> list[str]:
    named = [one.get("name") for one in part.get("security_groups") or []]
    if not named:
        return [default_group(call.docs, call.project_id)["id"]]
    return [find_group(call, str(name), 400)["id"] for name in named]


def find_group(call: Call, name: str, status: int) -> Doc:
    default_group(call.docs, call.project_id)
    own = call.docs.where("security_group", project_id=call.project_id)
    matches = [group for group in own if group["id"] == name] or [group for group in own if group["name"] == name]
    if not matches:
        if status == 400:
            raise bad(f"Unable to find security_group with name or id '{name}'")
        raise ApiError(404, f"Security group {name} is not found for project {call.project_id}")
    if len(matches) > 1:
        raise ApiError(409, f"Multiple security_group matches found for name '{name}', use an ID to be more specific.")
    return matches[0]


def _plug(call: Call, server: Doc, networks: list[Doc], groups: list[str]) -> None:
    idents, own = [], []
    for one in networks:
        if "port" in one:
            ident = one["port"]
        else:
            ident = new_port(call, one["network"], one.get("address"), groups)["id"]
            own.append(ident)
        call.docs.change("port", ident, device_id=server["id"], device_owner="compute:nova")
        idents.append(ident)
    call.docs.change("server", server["id"], port_ids=idents, own_ports=own)


def new_port(call: Call, network_id: str, address: str | None, groups: list[str]) -> Doc:
    """A port as Nova asks Neutron for one; Neutron's refusals in Nova's words."""
    network = call.docs.get("network", network_id) or {}
    guarded = network.get("port_security_enabled", True)
    fixed = {"fixed_ips": [{"ip_address": address}]} if address else {}
    secured = {"security_groups": groups} if guarded else {}
    try:
        return ports.make(call, {"network_id": network_id, **fixed, **secured})
    except ApiError as exc:
        if exc.kind == "IpAddressAlreadyAllocated":
            raise bad(f"Fixed IP address {address} is already in use on instance.") from exc
        raise ApiError(exc.status if exc.status in (403, 409) else 400, exc.message) from exc


def _block_devices(call: Call, part: Doc, image: Doc | None) -> list[Doc]:
    """The volumes to make or attach at birth, each marked ``root`` when the server boots from it."""
    given = part.get("block_device_mapping_v2") or []
    mappings = [_mapping(call, dict(one)) for one in given if one.get("destination_type") == "volume"]
    for old in part.get("block_device_mapping") or []:
        kind = "snapshot" if str(old.get("device_name", "")).endswith(":snap") else "volume"
        mappings.append(_mapping(call, {"source_type": kind, "uuid": old.get("volume_id"), "boot_index": None, **old}))
    if image is None and not any(mapping.get("root") for mapping in mappings):
        if not mappings:
            raise bad("Block Device Mapping is Invalid: You specified no image and no block device to boot from.")
        mappings[0]["root"] = True
    return mappings


def _mapping(call: Call, one: Doc) -> Doc:
    kinds = {"volume": "volume", "snapshot": "snapshot", "image": "image"}
    source = one.get("source_type")
    if source in kinds:
        found = call.docs.get(kinds[source], str(one.get("uuid")))
        if found is None:
            raise bad(f"Block Device Mapping is Invalid: failed to get {source} {one.get('uuid')}.")
        if source == "volume" and found["status"] != "available":
            raise bad(
                f"Invalid volume: volume {found['id']} status must be 'available'. Currently in '{found['status']}'."
            )
    elif source != "blank":
        raise bad(f"Invalid input for field/attribute source_type. Value: {source}.")
    if source in ("blank", "image") and not one.get("volume_size"):
        raise bad(f"Block Device Mapping is Invalid: {source} volume needs a volume_size.")
    return {**one, "root": str(one.get("boot_index", "")) == "0"}


def _boot_image(call: Call, mappings: list[Doc]) -> str:
    for mapping in mappings:
        if not mapping.get("root"):
            continue
        if mapping["source_type"] == "image":
            return str(mapping["uuid"])
        source = call.docs.get(mapping["source_type"], mapping.get("uuid") or "") or {}
        return str((source.get("volume_image_metadata") or {}).get("image_id", ""))
    return ""


def _attach(call: Call, server: Doc, mapping: Doc) -> None:
    ident = mapping.get("uuid")
    if mapping["source_type"] != "volume":
        sources = {"snapshot": "snapshot_id", "image": "imageRef"}
        source = {sources[mapping["source_type"]]: ident} if mapping["source_type"] in sources else {}
        size = {"size": mapping["volume_size"]} if mapping.get("volume_size") else {}
        ident = make_volume(call, {"name": "", **size, **source})["id"]
    attach_at_birth(
        call,
        server,
        str(ident),
        device=mapping.get("device_name"),
        delete_on_termination=bool(mapping.get("delete_on_termination")),
    )
