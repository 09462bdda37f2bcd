"""Flavors and their extra specs."""

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, new_id, page, post, put
from calor.server.devcloud.documents import Doc, Documents
from calor.server.devcloud.nova.microversions import asked


def make(docs: Documents, part: Doc) -> Doc:
    return docs.put(
        "flavor",
        {
            "id": str(part.get("flavorid") or part.get("id") or new_id()),
            "name": part["name"],
            "ram": int(part["ram"]),
            "disk": int(part.get("disk", 0)),
            "vcpus": int(part["vcpus"]),
            "swap": int(part.get("swap") or 0),
            "ephemeral": int(part.get("OS-FLV-EXT-DATA:ephemeral") or 0),
            "is_public": bool(part.get("os-flavor-access:is_public", True)),
            "rxtx_factor": float(part.get("rxtx_factor") or 1.0),
            "description": part.get("description"),
            "extra_specs": {},
            "access": [],
        },
    )


def find(docs: Documents, ident: str) -> Doc:
    flavor = docs.get("flavor", ident)
    if flavor is None:
        raise ApiError(404, f"Flavor {ident} could not be found.")
    return flavor


def links(call: Call, ident: str) -> list[Doc]:
    return [
        {"rel": "self", "href": call.url(f"/compute/v2.1/flavors/{ident}")},
        {"rel": "bookmark", "href": call.url(f"/compute/flavors/{ident}")},
    ]


def show(call: Call, doc: Doc) -> Doc:
    body = {
        "id": doc["id"],
        "name": doc["name"],
        "ram": doc["ram"],
        "disk": doc["disk"],
        "swap": doc["swap"] or ("" if asked(call) < (2, 75) else 0),
        "OS-FLV-EXT-DATA:ephemeral": doc["ephemeral"],
        "OS-FLV-DISABLED:disabled": False,
        "vcpus": doc["vcpus"],
        "os-flavor-access:is_public": doc["is_public"],
        "rxtx_factor": doc["rxtx_factor"],
        "links": links(call, doc["id"]),
    }
    if asked(call) >= (2, 55):
        body["description"] = doc["description"]
    if asked(call) >= (2, 61):
        body["extra_specs"] = doc["extra_specs"]
    return body


def _visible(call: Call) -> list[Doc]:
    mine = call.token.project_id
    docs = [doc for doc in call.docs.all("flavor") if doc["is_public"] or call.token.is_admin or mine in _access(doc)]
    if "minRam" in call.query:
        docs = [doc for doc in docs if doc["ram"] >= int(call.query["minRam"])]
    if "minDisk" in call.query:
        docs = [doc for doc in docs if doc["disk"] >= int(call.query["minDisk"])]
    return page(call, docs)


def list_brief(call: Call) -> Doc:
    brief = [{"id": doc["id"], "name": doc["name"], "links": links(call, doc["id"])} for doc in _visible(call)]
    if asked(call) >= (2, 55):
        brief = [{**one, "description": None} for one in brief]
    return {"flavors": brief}


def list_detail(call: Call) -> Doc:
    return {"flavors": [show(call, doc) for doc in _visible(call)]}


def show_flavor(call: Call) -> Doc:
    return {"flavor": show(call, find(call.docs, call.path["id"]))}


def _admin_only(call: Call) -> None:
    if not call.token.is_admin:
        raise ApiError(403, "Policy doesn't allow os_compute_api:os-flavor-manage to be performed.")


def create(call: Call) -> Doc:
    _admin_only(call)
    part = call.part("flavor")
    for name in ("name", "ram", "vcpus", "disk"):
        if name not in part:
            raise ApiError(400, f"Invalid input for field/attribute flavor. '{name}' is a required property")
    taken = [doc for doc in call.docs.all("flavor") if part["name"] == doc["name"] or part.get("id") == doc["id"]]
    if taken:
        raise ApiError(409, f"Flavor with name {part['name']} already exists.")
    return {
        "flavor": show(
            call, make(call.docs, {**part, "flavorid": part.get("id") if part.get("id") != "auto" else None})
        )
    }


def remove(call: Call) -> Answer:
    _admin_only(call)
    call.docs.drop("flavor", find(call.docs, call.path["id"])["id"])
    return Answer(status=202)


def show_specs(call: Call) -> Doc:
    return {"extra_specs": find(call.docs, call.path["id"])["extra_specs"]}


def add_specs(call: Call) -> Doc:
    _admin_only(call)
    doc = find(call.docs, call.path["id"])
    specs = {**doc["extra_specs"], **call.part("extra_specs")}
    call.docs.change("flavor", doc["id"], extra_specs=specs)
    return {"extra_specs": specs}


def show_spec(call: Call) -> Doc:
    doc, key = find(call.docs, call.path["id"]), call.path["key"]
    if key not in doc["extra_specs"]:
        raise ApiError(404, f"Flavor {doc['id']} has no extra specs with key {key}.")
    return {key: doc["extra_specs"][key]}


def put_spec(call: Call) -> Doc:
    _admin_only(call)
    doc, key = find(call.docs, call.path["id"]), call.path["key"]
    call.docs.change("flavor", doc["id"], extra_specs={**doc["extra_specs"], key: (call.body or {}).get(key)})
    return {key: (call.body or {}).get(key)}


def remove_spec(call: Call) -> Answer:
    _admin_only(call)
    show_spec(call)
    doc = find(call.docs, call.path["id"])
    rest = {key: value for key, value in doc["extra_specs"].items() if key != call.path["key"]}
    call.docs.change("flavor", doc["id"], extra_specs=rest)
    return Answer()


def _access(flavor: Doc) -> list[str]:
    return list(flavor.get("access", ()))


def access(call: Call) -> Doc:
    flavor = find(call.docs, call.path["id"])
    if flavor["is_public"]:
        raise ApiError(404, "Access list not available for public flavors.")
    return {"flavor_access": [{"flavor_id": flavor["id"], "tenant_id": each} for each in _access(flavor)]}


def act(call: Call) -> Doc:
    """``addTenantAccess`` and ``removeTenantAccess``."""
    _admin_only(call)
    flavor = find(call.docs, call.path["id"])
    ((verb, argument),) = (call.body or {"": None}).items()
    project, held = str((argument or {}).get("tenant")), _access(flavor)
    if verb == "addTenantAccess":
        if flavor["is_public"]:
            raise ApiError(409, "Can not add access to a public flavor.")
        if project in held:
            raise ApiError(409, f"Flavor access already exists for flavor {flavor['id']} and project {project}.")
        held.append(project)
    elif verb == "removeTenantAccess":
        if project not in held:
            raise ApiError(404, f"Flavor access not found for {flavor['id']} / {project} combination.")
        held.remove(project)
    else:
        raise ApiError(400, f"There is no such action: {verb}")
    call.docs.change("flavor", flavor["id"], access=held)
    return access(call)


ROUTES = (
    get("/v2.1/flavors", list_brief),
    post("/v2.1/flavors", create),
    get("/v2.1/flavors/detail", list_detail),
    get("/v2.1/flavors/{id}", show_flavor),
    delete("/v2.1/flavors/{id}", remove),
    get("/v2.1/flavors/{id}/os-extra_specs", show_specs),
    post("/v2.1/flavors/{id}/os-extra_specs", add_specs),
    get("/v2.1/flavors/{id}/os-extra_specs/{key}", show_spec),
    put("/v2.1/flavors/{id}/os-extra_specs/{key}", put_spec),
    delete("/v2.1/flavors/{id}/os-extra_specs/{key}", remove_spec),
    get("/v2.1/flavors/{id}/os-flavor-access", access),
    post("/v2.1/flavors/{id}/action", act),
)
