"""OS-TRUST: a user lets another act for him in one project."""

from calor.server.devcloud.access import ApiError, Token
from calor.server.devcloud.calls import Answer, Call, delete, get, new_hex, post
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.keystone.directory import forbid, listed, missing, show
from calor.server.devcloud.roles import effective_roles

NOT_AUTHORIZED = "You are not authorized to perform the requested action"


def refuse_delegated(token: Token) -> None:
    """Nobody delegates what was delegated to him. As Keystone 30 has it, the token of an application credential makes
    no trust even where it is unrestricted: that may make application credentials."""
    if token.application_credential is not None:
        raise ApiError(403, f"{NOT_AUTHORIZED}: Delegated tokens cannot manage trusts..")
    if token.trust is not None:
        raise ApiError(403, f"{NOT_AUTHORIZED}.")


def create(call: Call) -> Answer:
    refuse_delegated(call.token)
    part = call.part("trust")
    if part.get("trustor_user_id") != call.token.user_id:
        raise ApiError(403, f"{NOT_AUTHORIZED}: The trustor must be the caller.")
    if call.docs.get("user", str(part.get("trustee_user_id"))) is None:
        raise missing("user", str(part.get("trustee_user_id")))
    project = call.docs.get("project", str(part.get("project_id")))
    if project is None:
        raise missing("project", str(part.get("project_id")))
    doc = {
        "id": new_hex(),
        "trustor_user_id": call.token.user_id,
        "trustee_user_id": part["trustee_user_id"],
        "project_id": project["id"],
        "impersonation": bool(part.get("impersonation")),
        "role_ids": _delegated(call, part, project),
        "expires_at": part.get("expires_at"),
        "remaining_uses": part.get("remaining_uses"),
        "deleted_at": None,
        "redelegated_trust_id": None,
        "redelegation_count": 0,
    }
    return Answer(body={"trust": _full(call, call.docs.put("trust", doc))}, status=201)


def _delegated(call: Call, part: Doc, project: Doc) -> list[str]:
    """The ids of the roles asked for, each of which the trustor has."""
    wanted = part.get("roles") or []
    if not wanted:
        raise ApiError(403, f"{NOT_AUTHORIZED}: At least one role should be specified.")
    held = {role["id"] for role in effective_roles(call.docs, call.token.user_id, project["id"])}
    ids = []
    for asked in wanted:
        by_name = call.docs.where("role", name=asked.get("name")) if "id" not in asked else []
        ident = asked.get("id") or (by_name[0]["id"] if by_name else asked.get("name"))
        if ident not in held:
            raise missing("role", str(ident))
        ids.append(str(ident))
    return ids


def _brief(call: Call, doc: Doc) -> Doc:
    shown = {key: value for key, value in doc.items() if key != "role_ids"}
    return {**shown, "links": {"self": call.url(f"/identity/v3/OS-TRUST/trusts/{doc['id']}")}}


def _full(call: Call, doc: Doc) -> Doc:
    roles = [show(call, "role", role) for role in call.docs.all("role") if role["id"] in doc["role_ids"]]
    links = {"self": call.url(f"/identity/v3/OS-TRUST/trusts/{doc['id']}/roles"), "next": None, "previous": None}
    return {**_brief(call, doc), "roles": roles, "roles_links": links}


def _found(call: Call) -> Doc:
    doc = call.docs.get("trust", call.path["id"])
    mine = (call.token.user_id, call.token.trustee_id)
    if doc is None or not (call.token.is_admin or doc["trustor_user_id"] in mine or doc["trustee_user_id"] in mine):
        raise missing("trust", call.path["id"])
    return doc


def list_trusts(call: Call) -> Doc:
    keys = [key for key in ("trustor_user_id", "trustee_user_id") if key in call.query]
    if not call.token.is_admin and not any(call.query[key] == call.token.user_id for key in keys):
        raise forbid("list_trusts")
    docs = call.docs.where("trust", **{key: call.query[key] for key in keys})
    return listed(call, "trusts", [_brief(call, doc) for doc in docs])


def show_trust(call: Call) -> Doc:
    return {"trust": _full(call, _found(call))}


def trust_roles(call: Call) -> Doc:
    return listed(call, "roles", _full(call, _found(call))["roles"])


def remove(call: Call) -> Answer:
    doc = _found(call)
    refuse_delegated(call.token)
    if doc["trustor_user_id"] != call.token.user_id and not call.token.is_admin:
        raise forbid("delete_trust")
    call.docs.drop("trust", doc["id"])
    return Answer(status=204)


ROUTES = (
    post("/v3/OS-TRUST/trusts", create),
    get("/v3/OS-TRUST/trusts", list_trusts),
    get("/v3/OS-TRUST/trusts/{id}", show_trust),
    get("/v3/OS-TRUST/trusts/{id}/roles", trust_roles),
    delete("/v3/OS-TRUST/trusts/{id}", remove),
)
