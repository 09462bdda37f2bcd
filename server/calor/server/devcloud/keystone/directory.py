"""Users, projects, roles and who has which; the catalog's services. Changes are the admin's."""

from typing import Any

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, new_hex, patch, post, put
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.keystone.catalog import service_catalog
from calor.server.devcloud.keystone.passwords import hash_password
from calor.server.devcloud.roles import grant, grant_id

PLURAL = {"user": "users", "project": "projects", "role": "roles"}
HIDDEN = frozenset({"password_hash", "secret_version"})


def forbid(rule: str) -> ApiError:
    return ApiError(403, f"You are not authorized to perform the requested action: identity:{rule}.")


def missing(kind: str, ident: str) -> ApiError:
    return ApiError(404, f"Could not find {kind.replace('_', ' ')}: {ident}.")


def admin_only(call: Call, rule: str) -> None:
    if not call.token.is_admin:
        raise forbid(rule)


def listed(call: Call, plural: str, items: list[Doc]) -> Doc:
    return {plural: items, "links": {"next": None, "self": str(call.request.url), "previous": None}}


def show(call: Call, kind: str, doc: Doc) -> Doc:
    shown = {key: value for key, value in doc.items() if key not in HIDDEN}
    return {**shown, "links": {"self": call.url(f"/identity/v3/{PLURAL[kind]}/{doc['id']}")}}


def _found(call: Call, kind: str) -> Doc:
    doc = call.docs.get(kind, call.path["id"])
    if doc is None:
        raise missing(kind, call.path["id"])
    return doc


def _lister(kind: str) -> Any:
    def list_all(call: Call) -> Doc:
        admin_only(call, f"list_{PLURAL[kind]}")
        docs = call.docs.all(kind)
        for key in ("name", "enabled"):
            if key in call.query:
                docs = [doc for doc in docs if str(doc.get(key)).lower() == call.query[key].lower()]
        return listed(call, PLURAL[kind], [show(call, kind, doc) for doc in docs])

    return list_all


def _shower(kind: str) -> Any:
    def show_one(call: Call) -> Doc:
        own = call.path["id"] in (call.token.user_id, call.project_id)
        if not own:
            admin_only(call, f"get_{kind}")
        return {kind: show(call, kind, _found(call, kind))}

    return show_one


def _creator(kind: str) -> Any:
    def create(call: Call) -> Answer:
        admin_only(call, f"create_{kind}")
        part = call.part(kind)
        if not isinstance(part.get("name"), str) or not part["name"]:
            raise ApiError(400, "Invalid input for field 'name': 'name' is a required property")
        if call.docs.where(kind, name=part["name"]):
            where = "" if kind == "role" else " at domain ID default"
            why = (
                f"Conflict occurred attempting to store {kind} - Duplicate entry found with name {part['name']}{where}."
            )
            raise ApiError(409, why)
        doc = call.docs.put(kind, NEW[kind](part))
        return Answer(body={kind: show(call, kind, doc)}, status=201)

    return create


def new_user(part: Doc) -> Doc:
    return {
        "id": new_hex(),
        "name": part["name"],
        "domain_id": "default",
        "enabled": part.get("enabled", True),
        "default_project_id": part.get("default_project_id"),
        "description": part.get("description"),
        "email": part.get("email"),
        "password_expires_at": None,
        "options": {},
        "password_hash": hash_password(part["password"]) if part.get("password") else "",
    }


def new_project(part: Doc) -> Doc:
    return {
        "id": new_hex(),
        "name": part["name"],
        "domain_id": "default",
        "description": part.get("description") or "",
        "enabled": part.get("enabled", True),
        "parent_id": "default",
        "is_domain": False,
        "tags": [],
        "options": {},
    }


def new_role(part: Doc) -> Doc:
    return {
        "id": new_hex(),
        "name": part["name"],
        "domain_id": None,
        "description": part.get("description"),
        "options": {},
    }


NEW = {"user": new_user, "project": new_project, "role": new_role}


def _changer(kind: str) -> Any:
    def change(call: Call) -> Doc:
        admin_only(call, f"update_{kind}")
        doc, part = _found(call, kind), dict(call.part(kind))
        password = part.pop("password", None)
        if password:
            part["password_hash"] = hash_password(password)
            part["secret_version"] = doc.get("secret_version", 0) + 1
        allowed = {key: value for key, value in part.items() if key in doc or key == "secret_version"}
        return {kind: show(call, kind, call.docs.change(kind, doc["id"], **{**allowed, "id": doc["id"]}))}

    return change


def _deleter(kind: str) -> Any:
    def remove(call: Call) -> Answer:
        admin_only(call, f"delete_{kind}")
        doc = _found(call, kind)
        call.docs.drop(kind, doc["id"])
        for held in call.docs.all("grant"):
            if doc["id"] in (held["user_id"], held["scope"], held["role_id"]):
                call.docs.drop("grant", held["id"])
        for of in ("trust", "application_credential"):
            for held in call.docs.all(of):
                if doc["id"] in (held.get("user_id"), held.get("trustor_user_id"), held.get("trustee_user_id")):
                    call.docs.drop(of, held["id"])
        return Answer(status=204)

    return remove


def _grant_parts(call: Call) -> tuple[str, str, str]:
    admin_only(call, "create_grant")
    user, role, scope = call.path["user_id"], call.path["role_id"], call.path.get("project_id", "system")
    for kind, ident in (("user", user), ("role", role), ("project", scope)):
        if ident != "system" and call.docs.get(kind, ident) is None:
            raise missing(kind, ident)
    return user, scope, role


def add_grant(call: Call) -> Answer:
    grant(call.docs, *_grant_parts(call))
    return Answer(status=204)


def check_grant(call: Call) -> Answer:
    if call.docs.get("grant", grant_id(*_grant_parts(call))) is None:
        raise missing("role assignment", call.path["role_id"])
    return Answer(status=204)


def remove_grant(call: Call) -> Answer:
    check_grant(call)
    call.docs.drop("grant", grant_id(*_grant_parts(call)))
    return Answer(status=204)


def list_grants(call: Call) -> Doc:
    admin_only(call, "list_grants")
    scope = call.path.get("project_id", "system")
    held = {doc["role_id"] for doc in call.docs.where("grant", user_id=call.path["user_id"], scope=scope)}
    roles = [show(call, "role", role) for role in call.docs.all("role") if role["id"] in held]
    return listed(call, "roles", roles)


def role_assignments(call: Call) -> Doc:
    if call.query.get("user.id") != call.token.user_id:
        admin_only(call, "list_role_assignments")
    wanted = {"user.id": "user_id", "scope.project.id": "scope", "role.id": "role_id"}
    grants = call.docs.all("grant")
    for key, mine in wanted.items():
        if key in call.query:
            grants = [doc for doc in grants if doc[mine] == call.query[key]]
    if "scope.system" in call.query:
        grants = [doc for doc in grants if doc["scope"] == "system"]
    names = "include_names" in call.query and call.query["include_names"].lower() not in ("0", "false")
    return listed(call, "role_assignments", [_assignment(call, doc, names) for doc in grants])


def _assignment(call: Call, doc: Doc, names: bool) -> Doc:
    def named(kind: str, ident: str) -> Doc:
        found = call.docs.get(kind, ident) or {}
        domain = {} if kind == "role" else {"domain": {"id": "default", "name": "Default"}}
        return {"id": ident, "name": found.get("name"), **domain} if names else {"id": ident}

    system = doc["scope"] == "system"
    where = "system" if system else f"projects/{doc['scope']}"
    link = call.url(f"/identity/v3/{where}/users/{doc['user_id']}/roles/{doc['role_id']}")
    return {
        "links": {"assignment": link},
        "scope": {"system": {"all": True}} if system else {"project": named("project", doc["scope"])},
        "user": named("user", doc["user_id"]),
        "role": named("role", doc["role_id"]),
    }


def user_projects(call: Call) -> Doc:
    if call.path["id"] != call.token.user_id:
        admin_only(call, "list_user_projects")
    scopes = {doc["scope"] for doc in call.docs.where("grant", user_id=call.path["id"])}
    projects = [show(call, "project", doc) for doc in call.docs.all("project") if doc["id"] in scopes]
    return listed(call, "projects", projects)


def _domain(call: Call) -> Doc:
    link = call.url("/identity/v3/domains/default")
    return {
        "id": "default",
        "name": "Default",
        "description": "The default domain",
        "enabled": True,
        "tags": [],
        "options": {},
        "links": {"self": link},
    }


def list_domains(call: Call) -> Doc:
    admin_only(call, "list_domains")
    matches = call.query.get("name", "Default") == "Default"
    return listed(call, "domains", [_domain(call)] if matches else [])


def show_domain(call: Call) -> Doc:
    if call.path["id"] != "default":
        raise missing("domain", call.path["id"])
    return {"domain": _domain(call)}


def list_services(call: Call) -> Doc:
    admin_only(call, "list_services")
    entries = service_catalog(call, call.token)
    services = [{"id": e["id"], "name": e["name"], "type": e["type"], "enabled": True, "links": {}} for e in entries]
    if "type" in call.query:
        services = [entry for entry in services if entry["type"] == call.query["type"]]
    return listed(call, "services", services)


def list_endpoints(call: Call) -> Doc:
    admin_only(call, "list_endpoints")
    endpoints = [
        {**endpoint, "service_id": entry["id"], "enabled": True, "links": {}}
        for entry in service_catalog(call, call.token)
        for endpoint in entry["endpoints"]
    ]
    return listed(call, "endpoints", endpoints)


def list_regions(call: Call) -> Doc:
    region: Doc = {"id": "RegionOne", "description": "", "parent_region_id": None, "links": {}}
    return listed(call, "regions", [region])


def list_groups(call: Call) -> Doc:
    return listed(call, "groups", [])


def _crud(kind: str) -> tuple[Any, ...]:
    base = f"/v3/{PLURAL[kind]}"
    return (
        get(base, _lister(kind)),
        post(base, _creator(kind)),
        get(base + "/{id}", _shower(kind)),
        patch(base + "/{id}", _changer(kind)),
        delete(base + "/{id}", _deleter(kind)),
    )


def _grants(base: str) -> tuple[Any, ...]:
    one = base + "/{role_id}"
    return (
        get(base, list_grants),
        put(one, add_grant),
        get(one, check_grant),
        delete(one, remove_grant),
    )


ROUTES = (
    *_crud("user"),
    *_crud("project"),
    *_crud("role"),
    *_grants("/v3/projects/{project_id}/users/{user_id}/roles"),
    *_grants("/v3/system/users/{user_id}/roles"),
    get("/v3/role_assignments", role_assignments),
    get("/v3/users/{id}/projects", user_projects),
    get("/v3/users/{id}/groups", list_groups),
    get("/v3/groups", list_groups),
    get("/v3/domains", list_domains),
    get("/v3/domains/{id}", show_domain),
    get("/v3/services", list_services),
    get("/v3/endpoints", list_endpoints),
    get("/v3/regions", list_regions),
)
