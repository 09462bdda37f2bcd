"""``/servers``: create, list, show, update, delete."""

import re

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, page, post, put
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.nova import server_creation, states
from calor.server.devcloud.nova.microversions import asked
from calor.server.devcloud.nova.server_views import brief, detail, links, security_group_names, touched
from calor.server.devcloud.tasks import enqueue, withdraw

EXACT = {"image": "image_id", "user_id": "user_id", "vm_state": "vm_state", "task_state": "task_state"}


def find(call: Call, ident: str) -> Doc:
    server = call.docs.get("server", ident)
    if server is None or not call.sees(server):
        raise ApiError(404, f"Instance {ident} could not be found.")
    return server


def create(call: Call) -> Answer:
    part = call.part("server")
    server = server_creation.create_server(call, part)
    body = {
        "id": server["id"],
        "links": links(call, server["id"]),
        "OS-DCF:diskConfig": server["disk_config"],
        "security_groups": [{"name": name} for name in security_group_names(call, server) or ["default"]],
        "adminPass": server["admin_pass"],
    }
    return Answer(body={"server": body}, status=202, headers={"Location": body["links"][0]["href"]})


def _selected(call: Call) -> list[Doc]:
    every = call.token.is_admin and call.query.get("all_tenants", "0").lower() not in ("0", "false")
    servers = [doc for doc in call.docs.all("server") if every or doc["project_id"] == call.project_id]
    if "tenant_id" in call.query or "project_id" in call.query:
        project = call.query.get("project_id", call.query.get("tenant_id"))
        servers = [doc for doc in servers if doc["project_id"] == project]
    if "name" in call.query:
        try:
            name = re.compile(call.query["name"])
        except re.error as exc:
            raise ApiError(400, f"Invalid input for query parameters name. Value: {call.query['name']}.") from exc
        servers = [doc for doc in servers if name.search(doc["name"])]
    if "status" in call.query:
        wanted = {word.upper() for word in call.request.query.getall("status")}
        servers = [doc for doc in servers if states.status(doc) in wanted]
    if "flavor" in call.query:
        servers = [doc for doc in servers if doc["flavor"]["id"] == call.query["flavor"]]
    for key, mine in EXACT.items():
        if key in call.query:
            servers = [doc for doc in servers if doc[mine] == call.query[key]]
    return _more(call, servers)


def _more(call: Call, servers: list[Doc]) -> list[Doc]:
    if "ip" in call.query:
        ports = call.docs.all("port")
        near = {
            port["device_id"]
            for port in ports
            for fixed in port["fixed_ips"]
            if re.match(call.query["ip"], fixed["ip_address"])
        }
        servers = [doc for doc in servers if doc["id"] in near]
    if "tags" in call.query:
        wanted = set(call.query["tags"].split(","))
        servers = [doc for doc in servers if wanted <= set(doc["tags"])]
    if "changes-since" in call.query:
        servers = [doc for doc in servers if doc["updated"] >= call.query["changes-since"]]
    servers.sort(key=lambda doc: str(doc["created"]), reverse=True)
    return servers


def _links(call: Call, shown: list[Doc], path: str) -> Doc:
    if "limit" not in call.query or len(shown) < int(call.query["limit"]) or not shown:
        return {}
    query = {**call.query, "marker": shown[-1]["id"]}
    target = call.request.url.with_path(f"/compute/v2.1/{path}").with_query(query)
    return {"servers_links": [{"rel": "next", "href": str(target)}]}


def list_brief(call: Call) -> Doc:
    shown = page(call, _selected(call))
    return {"servers": [brief(call, doc) for doc in shown], **_links(call, shown, "servers")}


def list_detail(call: Call) -> Doc:
    shown = page(call, _selected(call))
    return {"servers": [detail(call, doc) for doc in shown], **_links(call, shown, "servers/detail")}


def show(call: Call) -> Doc:
    return {"server": detail(call, find(call, call.path["id"]))}


def update(call: Call) -> Doc:
    server, part = find(call, call.path["id"]), call.part("server")
    allowed = {"name", "accessIPv4", "accessIPv6", "description", "OS-DCF:diskConfig", "hostname"}
    unknown = set(part) - allowed
    if unknown:
        raise ApiError(400, f"Additional properties are not allowed ({sorted(unknown)} was unexpected)")
    fields = {key: part[key] for key in ("name", "accessIPv4", "accessIPv6") if part.get(key) is not None}
    if "description" in part and asked(call) >= (2, 19):
        fields["description"] = part["description"]
    if "OS-DCF:diskConfig" in part:
        fields["disk_config"] = part["OS-DCF:diskConfig"]
    server = call.docs.put("server", touched(server, **fields))
    return {"server": detail(call, server)}


def remove(call: Call) -> Answer:
    server = find(call, call.path["id"])
    if server["locked"] and not call.token.is_admin:
        raise ApiError(409, f"Instance {server['id']} is locked")
    if server["task_state"] != "deleting":
        call.docs.put("server", touched(server, task_state="deleting"))
        withdraw(call.docs, f"server:{server['id']}")
        enqueue(call.docs, f"server:{server['id']}", "destroy")
    return Answer(status=204)


ROUTES = (
    get("/v2.1/servers", list_brief),
    post("/v2.1/servers", create),
    get("/v2.1/servers/detail", list_detail),
    get("/v2.1/servers/{id}", show),
    put("/v2.1/servers/{id}", update),
    delete("/v2.1/servers/{id}", remove),
)
