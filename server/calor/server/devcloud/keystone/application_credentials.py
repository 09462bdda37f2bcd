"""Application credentials: a secret of its own for one user in one project; restricted unless said otherwise."""

import secrets

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, delete, get, new_hex, post
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.keystone.directory import forbid, listed, missing, show
from calor.server.devcloud.keystone.passwords import hash_password


def _refuse_restricted(call: Call) -> None:
    credential = call.token.application_credential
    if (credential is not None and not credential["unrestricted"]) or call.token.trust is not None:
        method = "application_credential" if credential is not None else "trust"
        raise ApiError(
            403,
            "You are not authorized to perform the requested action: "
            f"Using method '{method}' is not allowed for managing additional application credentials..",
        )


def _own(call: Call, rule: str) -> None:
    if call.path["user_id"] != call.token.user_id and not call.token.is_admin:
        raise forbid(rule)


def create(call: Call) -> Answer:
    if call.path["user_id"] != call.token.user_id:
        raise forbid("create_application_credential")
    _refuse_restricted(call)
    part = call.part("application_credential")
    name = part.get("name")
    if not isinstance(name, str) or not name:
        raise ApiError(400, "'name' is a required property")
    if call.docs.where("application_credential", user_id=call.token.user_id, name=name):
        raise ApiError(
            409,
            f"Conflict occurred attempting to store application_credential - Duplicate entry found with name {name}.",
        )
    secret = part.get("secret") or secrets.token_urlsafe(64)
    doc = {
        "id": new_hex(),
        "name": name,
        "description": part.get("description"),
        "user_id": call.token.user_id,
        "project_id": call.project_id,
        "system": None,
        "expires_at": part.get("expires_at"),
        "unrestricted": bool(part.get("unrestricted")),
        "role_ids": _roles(call, part),
        "secret_hash": hash_password(secret),
    }
    shown = {**_show(call, call.docs.put("application_credential", doc)), "secret": secret}
    return Answer(body={"application_credential": shown}, status=201)


def _roles(call: Call, part: Doc) -> list[str]:
    if not part.get("roles"):
        return [role["id"] for role in call.token.roles]
    chosen = []
    for asked in part["roles"]:
        ident = next(
            (r["id"] for r in call.token.roles if asked.get("id", asked.get("name")) in (r["id"], r["name"])), None
        )
        if ident is None:
            raise ApiError(400, "Invalid application credential: Could not find role assignment with role.")
        chosen.append(ident)
    return chosen


def _show(call: Call, doc: Doc) -> Doc:
    shown = {key: value for key, value in doc.items() if key not in ("secret_hash", "role_ids")}
    roles = [show(call, "role", role) for role in call.docs.all("role") if role["id"] in doc["role_ids"]]
    link = call.url(f"/identity/v3/users/{doc['user_id']}/application_credentials/{doc['id']}")
    return {**shown, "roles": roles, "links": {"self": link}}


def _found(call: Call) -> Doc:
    _own(call, "get_application_credential")
    doc = call.docs.get("application_credential", call.path["id"])
    if doc is None or doc["user_id"] != call.path["user_id"]:
        raise missing("application credential", call.path["id"])
    return doc


def list_credentials(call: Call) -> Doc:
    _own(call, "list_application_credentials")
    docs = call.docs.where("application_credential", user_id=call.path["user_id"])
    if "name" in call.query:
        docs = [doc for doc in docs if doc["name"] == call.query["name"]]
    return listed(call, "application_credentials", [_show(call, doc) for doc in docs])


def show_credential(call: Call) -> Doc:
    return {"application_credential": _show(call, _found(call))}


def remove(call: Call) -> Answer:
    doc = _found(call)
    _refuse_restricted(call)
    call.docs.drop("application_credential", doc["id"])
    return Answer(status=204)


BASE = "/v3/users/{user_id}/application_credentials"
ROUTES = (
    post(BASE, create),
    get(BASE, list_credentials),
    get(BASE + "/{id}", show_credential),
    delete(BASE + "/{id}", remove),
)
