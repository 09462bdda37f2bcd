"""``/v3/auth``: logging in, checking and revoking tokens, the catalog."""

from typing import Any

from calor.server.devcloud.access import ApiError, Token
from calor.server.devcloud.calls import Answer, Call, Route, get, post
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.keystone.catalog import service_catalog
from calor.server.devcloud.keystone.passwords import is_password
from calor.server.devcloud.roles import effective_roles
from calor.server.devcloud.tokens import UNAUTHORIZED

DOMAIN = {"id": "default", "name": "Default"}


def denied() -> ApiError:
    return ApiError(401, UNAUTHORIZED, headers={"WWW-Authenticate": "Keystone"})


def version(call: Call) -> Answer:
    return Answer(body={"version": _version(call)})


def versions(call: Call) -> Answer:
    return Answer(body={"versions": {"values": [_version(call)]}}, status=300)


def _version(call: Call) -> dict[str, Any]:
    return {
        "id": "v3.14",
        "status": "stable",
        "updated": "2020-04-07T00:00:00Z",
        "links": [{"rel": "self", "href": call.url("/identity/v3/")}],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}],
    }


def log_in(call: Call) -> Answer:
    auth = call.part("auth")
    identity = auth.get("identity")
    if not isinstance(identity, dict) or not isinstance(identity.get("methods"), list):
        raise ApiError(400, "Expecting to find identity in auth. The server could not comply with the request.")
    claims, parent = _identify(call, identity)
    token = call.cloud.tokens.issue(_scoped(call, claims, parent, auth.get("scope")), parent=parent)
    catalog = "nocatalog" not in call.query
    return Answer(body=describe(call, token, catalog=catalog), status=201, headers={"X-Subject-Token": token.id})


def _identify(call: Call, identity: dict[str, Any]) -> tuple[dict[str, Any], Token | None]:
    methods = identity["methods"]
    if "password" in methods:
        return _by_password(call, identity.get("password", {}).get("user", {})), None
    if "token" in methods:
        parent = call.cloud.tokens.validate(str(identity.get("token", {}).get("id", "")))
        methods = tuple(dict.fromkeys(("token", *parent.methods)))
        return {"user": parent.trustee_id or parent.user_id, "methods": methods}, parent
    if "application_credential" in methods:
        return _by_credential(call, identity.get("application_credential", {})), None
    raise ApiError(401, "Attempted to authenticate with an unsupported method.")


def find_user(call: Call, named: dict[str, Any]) -> Doc:
    if named.get("id"):
        user = call.docs.get("user", named["id"])
    else:
        user = next(iter(call.docs.where("user", name=named.get("name"))), None)
    if user is None or not user["enabled"]:
        raise denied()
    return user


def _by_password(call: Call, named: dict[str, Any]) -> dict[str, Any]:
    user = find_user(call, named)
    if not is_password(str(named.get("password", "")), user["password_hash"]):
        raise denied()
    return {"user": user["id"], "methods": ["password"], "secret_version": user.get("secret_version", 0)}


def _by_credential(call: Call, named: dict[str, Any]) -> dict[str, Any]:
    if named.get("id"):
        found = call.docs.get("application_credential", named["id"])
    else:
        user = find_user(call, named.get("user", {}))
        found = next(iter(call.docs.where("application_credential", user_id=user["id"], name=named.get("name"))), None)
    if found is None or not is_password(str(named.get("secret", "")), found["secret_hash"]):
        raise denied()
    return {"user": found["user_id"], "methods": ["application_credential"], "credential": found["id"]}


def _scoped(call: Call, claims: dict[str, Any], parent: Token | None, scope: Any) -> dict[str, Any]:
    user = call.docs.get("user", claims["user"]) or {}
    claims = {**claims, "secret_version": user.get("secret_version", 0)}
    if parent is not None and parent.trust is not None:
        raise ApiError(
            403,
            "You are not authorized to perform the requested action: Using trust-scoped token to create another token. "
            "Create a new trust-scoped token instead.",
        )
    if claims.get("credential"):
        if scope not in (None, "unscoped"):
            raise ApiError(401, "Application credentials cannot request a scope.")
        return claims
    if parent is not None and parent.application_credential is not None:
        return {**claims, "credential": parent.application_credential["id"]}
    if scope is None:
        default = user.get("default_project_id")
        return {**claims, "project": default} if default and effective_roles(call.docs, user["id"], default) else claims
    if scope == "unscoped" or (isinstance(scope, dict) and "unscoped" in scope):
        return claims
    return {**claims, **_scope(call, user, scope)}


def _scope(call: Call, user: Doc, scope: dict[str, Any]) -> dict[str, Any]:
    if "OS-TRUST:trust" in scope:
        trust = call.docs.get("trust", scope["OS-TRUST:trust"].get("id", ""))
        if trust is None or trust["trustee_user_id"] != user["id"]:
            raise ApiError(403, "You are not authorized to perform the requested action.")
        return {"trust": trust["id"]}
    if "system" in scope:
        if not effective_roles(call.docs, user["id"], "system"):
            raise denied()
        return {"system": True}
    if "domain" in scope:
        raise denied()  # nobody has a role on the one domain
    project = find_project(call, scope.get("project") or {})
    if project is None or not effective_roles(call.docs, user["id"], project["id"]):
        raise denied()
    return {"project": project["id"]}


def find_project(call: Call, named: dict[str, Any]) -> Doc | None:
    if named.get("id"):
        return call.docs.get("project", named["id"])
    return next(iter(call.docs.where("project", name=named.get("name"))), None)


def describe(call: Call, token: Token, *, catalog: bool = True) -> dict[str, Any]:
    """The token's JSON, as Keystone shows it."""
    body: dict[str, Any] = {
        "methods": list(token.methods),
        "user": {
            "domain": DOMAIN,
            "id": token.user["id"],
            "name": token.user["name"],
            "password_expires_at": None,
        },
        "audit_ids": list(token.audit_ids),
        "expires_at": token.expires_at,
        "issued_at": token.issued_at,
    }
    if token.trust is not None:
        body["OS-TRUST:trust"] = {
            "id": token.trust["id"],
            "trustor_user": {"id": token.trust["trustor_user_id"]},
            "trustee_user": {"id": token.trust["trustee_user_id"]},
            "impersonation": token.trust["impersonation"],
        }
    if token.project is not None:
        body["project"] = {"domain": DOMAIN, "id": token.project["id"], "name": token.project["name"]}
        body["is_domain"] = False
    if token.system:
        body["system"] = {"all": True}
    if token.roles:
        body["roles"] = [{"id": role["id"], "name": role["name"]} for role in token.roles]
        if catalog:
            body["catalog"] = service_catalog(call, token)
    if token.application_credential is not None:
        credential = token.application_credential
        restricted = not credential["unrestricted"]
        body["application_credential"] = {
            "id": credential["id"],
            "name": credential["name"],
            "restricted": restricted,
        }
    return {"token": body}


def _subject(call: Call) -> Token:
    """The token asked about: one's own, or any for the admin and services."""
    ident = call.request.headers.get("X-Subject-Token", "")
    try:
        subject = call.cloud.tokens.validate(ident)
    except ApiError as exc:
        message = exc.message if exc.status == 404 else "Failed to validate token"
        raise ApiError(404, message) from exc
    if subject.user_id != call.token.user_id and not call.token.role_names & {"admin", "service"}:
        raise ApiError(403, "You are not authorized to perform the requested action: identity:validate_token.")
    return subject


def check(call: Call) -> Answer:
    subject = _subject(call)
    body = describe(call, subject, catalog="nocatalog" not in call.query)
    return Answer(body=body, headers={"X-Subject-Token": subject.id})


def revoke(call: Call) -> Answer:
    call.cloud.tokens.revoke(_subject(call))
    return Answer(status=204)


def catalog(call: Call) -> Any:
    return {"catalog": service_catalog(call, call.token), "links": {"self": call.url("/identity/v3/auth/catalog")}}


def own_projects(call: Call) -> Any:
    granted = {doc["scope"] for doc in call.docs.where("grant", user_id=call.token.user_id)}
    projects = [{**doc, "domain_id": "default"} for doc in call.docs.all("project") if doc["id"] in granted]
    return {"projects": projects, "links": {"next": None, "self": str(call.request.url), "previous": None}}


def own_domains(call: Call) -> Any:
    return {"domains": [], "links": {"next": None, "self": str(call.request.url), "previous": None}}


ROUTES = (
    get("", versions, public=True),
    get("/", versions, public=True),
    get("/v3", version, public=True),
    get("/v3/", version, public=True),
    post("/v3/auth/tokens", log_in, public=True),
    get("/v3/auth/tokens", check),
    Route(method="DELETE", path="/v3/auth/tokens", handler=revoke),
    get("/v3/auth/catalog", catalog),
    get("/v3/auth/projects", own_projects),
    get("/v3/auth/domains", own_domains),
)
