"""What hangs on one server: metadata, tags, addresses, groups, interfaces, volume attachments, actions taken."""

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, post, put
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.neutron.security_groups import default_group
from calor.server.devcloud.nova import attaching
from calor.server.devcloud.nova.microversions import asked
from calor.server.devcloud.nova.server_creation import check_metadata, new_port
from calor.server.devcloud.nova.server_views import addresses, touched
from calor.server.devcloud.nova.servers import find
from calor.server.devcloud.tasks import enqueue
from calor.server.devcloud.wiring import server_ports


def _server(call: Call) -> Doc:
    return find(call, call.path["id"])


def show_metadata(call: Call) -> Doc:
    return {"metadata": _server(call)["metadata"]}


def _keep(call: Call, server: Doc, metadata: Doc) -> Doc:
    call.docs.put("server", touched(server, metadata=check_metadata(metadata)))
    return metadata


def merge_metadata(call: Call) -> Doc:
    server = _server(call)
    return {"metadata": _keep(call, server, {**server["metadata"], **call.part("metadata")})}


def replace_metadata(call: Call) -> Doc:
    return {"metadata": _keep(call, _server(call), call.part("metadata"))}


def put_item(call: Call) -> Doc:
    server, item = _server(call), call.part("meta")
    if list(item) != [call.path["key"]]:
        raise ApiError(400, "Request body and URI mismatch")
    _keep(call, server, {**server["metadata"], **item})
    return {"meta": item}


def show_item(call: Call) -> Doc:
    key = call.path["key"]
    metadata = _server(call)["metadata"]
    if key not in metadata:
        raise ApiError(404, "Metadata item was not found")
    return {"meta": {key: metadata[key]}}


def delete_item(call: Call) -> Answer:
    show_item(call)
    server = _server(call)
    _keep(call, server, {key: value for key, value in server["metadata"].items() if key != call.path["key"]})
    return Answer(status=204)


def list_tags(call: Call) -> Doc:
    return {"tags": _server(call)["tags"]}


def replace_tags(call: Call) -> Doc:
    tags = list(dict.fromkeys((call.body or {}).get("tags") or []))
    call.docs.put("server", touched(_server(call), tags=tags))
    return {"tags": tags}


def clear_tags(call: Call) -> Answer:
    call.docs.put("server", touched(_server(call), tags=[]))
    return Answer(status=204)


def add_tag(call: Call) -> Answer:
    server, tag = _server(call), call.path["tag"]
    known = tag in server["tags"]
    if not known:
        call.docs.put("server", touched(server, tags=[*server["tags"], tag]))
    return Answer(status=204 if known else 201)


def check_tag(call: Call) -> Answer:
    server, tag = _server(call), call.path["tag"]
    if tag not in server["tags"]:
        raise ApiError(404, f"Instance {server['id']} has no tag '{tag}'")
    return Answer(status=204)


def remove_tag(call: Call) -> Answer:
    answer, server = check_tag(call), _server(call)
    call.docs.put("server", touched(server, tags=[tag for tag in server["tags"] if tag != call.path["tag"]]))
    return answer


def list_addresses(call: Call) -> Doc:
    found = addresses(call, _server(call))
    return {
        "addresses": {net: [{k: one[k] for k in ("version", "addr")} for one in ones] for net, ones in found.items()}
    }


def list_groups(call: Call) -> Doc:
    idents = {ident for port in server_ports(call.docs, _server(call)) for ident in port["security_groups"]}
    groups = [group for ident in sorted(idents) if (group := call.docs.get("security_group", ident))]
    keys = ("id", "name", "description", "tenant_id")
    return {"security_groups": [{**{key: group[key] for key in keys}, "rules": []} for group in groups]}


def _interface(call: Call, port: Doc) -> Doc:
    body = {
        "net_id": port["network_id"],
        "port_id": port["id"],
        "mac_addr": port["mac_address"],
        "port_state": port["status"],
        "fixed_ips": port["fixed_ips"],
    }
    return {**body, "tag": None} if asked(call) >= (2, 70) else body


def list_interfaces(call: Call) -> Doc:
    return {"interfaceAttachments": [_interface(call, port) for port in server_ports(call.docs, _server(call))]}


def _port(call: Call, server: Doc) -> Doc:
    ident = call.path["port_id"]
    port = call.docs.get("port", ident)
    if port is None or port["device_id"] != server["id"]:
        raise ApiError(404, f"Port id {ident} could not be found.")
    return port


def show_interface(call: Call) -> Doc:
    return {"interfaceAttachment": _interface(call, _port(call, _server(call)))}


def attach_interface(call: Call) -> Doc:
    server, part = _server(call), (call.body or {}).get("interfaceAttachment") or {}
    if server["vm_state"] not in ("active", "stopped"):
        raise ApiError(
            409, f"Cannot 'attach_interface' instance {server['id']} while it is in vm_state {server['vm_state']}"
        )
    own = list(server["own_ports"])
    if part.get("port_id"):
        port = call.docs.get("port", part["port_id"])
        if port is None or not call.sees(port):
            raise ApiError(404, f"Port {part['port_id']} could not be found.")
        if port["device_id"]:
            raise ApiError(400, f"Port {port['id']} is still in use.")
    else:
        port = _new_interface(call, server, part)
        own.append(port["id"])
    port = call.docs.change("port", port["id"], device_id=server["id"], device_owner="compute:nova")
    idents = [*server["port_ids"], port["id"]]
    call.docs.put("server", touched(server, port_ids=idents, own_ports=own))
    enqueue(call.docs, f"server:{server['id']}", "plug", port=port["id"])
    return {"interfaceAttachment": _interface(call, port)}


def _new_interface(call: Call, server: Doc, part: Doc) -> Doc:
    network_id = part.get("net_id")
    if not network_id:
        present = server_ports(call.docs, server)
        if not present:
            raise ApiError(400, "Must input network_id when request IP address")
        network_id = present[0]["network_id"]
    if call.docs.get("network", network_id) is None:
        raise ApiError(404, f"Network {network_id} could not be found.")
    fixed = part.get("fixed_ips") or [{}]
    return new_port(call, network_id, fixed[0].get("ip_address"), [default_group(call.docs, call.project_id)["id"]])


def detach_interface(call: Call) -> Answer:
    server = _server(call)
    port = _port(call, server)
    enqueue(call.docs, f"server:{server['id']}", "unplug", port=port["id"])
    return Answer(status=202)


def _attachment(call: Call, one: Doc) -> Doc:
    body = {"id": one["volume_id"], "volumeId": one["volume_id"], "serverId": one["server_id"], "device": one["device"]}
    if asked(call) >= (2, 70):
        body["tag"] = None
    if asked(call) >= (2, 79):
        body["delete_on_termination"] = one["delete_on_termination"]
    return body


def list_volumes(call: Call) -> Doc:
    held = call.docs.where("attachment", server_id=_server(call)["id"])
    return {"volumeAttachments": [_attachment(call, one) for one in held]}


def show_volume(call: Call) -> Doc:
    server, ident = _server(call), call.path["volume_id"]
    held = call.docs.where("attachment", server_id=server["id"], volume_id=ident)
    if not held:
        raise ApiError(404, f"Instance {server['id']} is not attached to volume {ident}")
    return {"volumeAttachment": _attachment(call, held[0])}


def attach_volume(call: Call) -> Doc:
    server, part = _server(call), call.part("volumeAttachment")
    if server["vm_state"] not in ("active", "stopped", "paused", "resized"):
        raise ApiError(
            409, f"Cannot 'attach_volume' instance {server['id']} while it is in vm_state {server['vm_state']}"
        )
    made = attaching.attach(
        call,
        server,
        str(part.get("volumeId")),
        device=part.get("device"),
        delete_on_termination=bool(part.get("delete_on_termination")),
    )
    return {"volumeAttachment": _attachment(call, made)}


def detach_volume(call: Call) -> Answer:
    attaching.detach(call, _server(call), call.path["volume_id"])
    return Answer(status=202)


def list_actions(call: Call) -> Doc:
    server = _server(call)
    action = {
        "action": "create",
        "instance_uuid": server["id"],
        "request_id": "req-" + server["id"],
        "user_id": server["user_id"],
        "project_id": server["project_id"],
        "start_time": server["created"].rstrip("Z") + ".000000",
        "message": None,
    }
    return {"instanceActions": [action]}


S = "/v2.1/servers/{id}"
ROUTES = (
    get(S + "/metadata", show_metadata),
    post(S + "/metadata", merge_metadata),
    put(S + "/metadata", replace_metadata),
    get(S + "/metadata/{key}", show_item),
    put(S + "/metadata/{key}", put_item),
    delete(S + "/metadata/{key}", delete_item),
    get(S + "/tags", list_tags),
    put(S + "/tags", replace_tags),
    delete(S + "/tags", clear_tags),
    get(S + "/tags/{tag}", check_tag),
    put(S + "/tags/{tag}", add_tag),
    delete(S + "/tags/{tag}", remove_tag),
    get(S + "/ips", list_addresses),
    get(S + "/os-security-groups", list_groups),
    get(S + "/os-interface", list_interfaces),
    post(S + "/os-interface", attach_interface),
    get(S + "/os-interface/{port_id}", show_interface),
    delete(S + "/os-interface/{port_id}", detach_interface),
    get(S + "/os-volume_attachments", list_volumes),
    post(S + "/os-volume_attachments", attach_volume),
    get(S + "/os-volume_attachments/{volume_id}", show_volume),
    delete(S + "/os-volume_attachments/{volume_id}", detach_volume),
    get(S + "/os-instance-actions", list_actions),
)
