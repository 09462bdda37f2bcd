"""Tokens: sealed statements of who logged in how, checked against the directory at each use.

A token is a Fernet box and is stored nowhere, so it outlives a restart; only revoked ones are remembered.
"""

import datetime
import json
import secrets
from typing import Any

from cryptography.fernet import Fernet, InvalidToken

from calor.server.devcloud.access import ApiError, Token
from calor.server.devcloud.documents import Doc, Documents
from calor.server.devcloud.roles import effective_roles

LIFETIME = datetime.timedelta(hours=24)
UNAUTHORIZED = "The request you have made requires authentication."


def _stamp(moment: datetime.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000000Z")


class Tokens:
    """Issues and validates. ``key`` is a Fernet key, kept in the state directory."""

    def __init__(self, docs: Documents, key: bytes) -> None:
        self._docs = docs
        self._box = Fernet(key)
        self._opened: dict[str, dict[str, Any]] = {}

    def issue(self, claims: dict[str, Any], *, parent: Token | None = None) -> Token:
        """Claims: ``user``, ``methods`` and one of ``project``, ``system``, ``trust``, ``credential`` or none."""
        issued = datetime.datetime.now(datetime.UTC)
        audit = [secrets.token_urlsafe(16)]
        expires = _stamp(issued + LIFETIME)
        if parent is not None:
            audit.append(parent.audit_ids[-1])
            expires = parent.expires_at
        sealed = {**claims, "issued": _stamp(issued), "expires": expires, "audit": audit}
        ident = self._box.encrypt(json.dumps(sealed).encode()).decode()
        return self.validate(ident)

    def validate(self, ident: str) -> Token:
        """Raises `ApiError` 401 for what is no token, expired, revoked, or whose grounds are gone."""
        claims = self._open(ident)
        if claims["expires"] <= _stamp(datetime.datetime.now(datetime.UTC)):
            raise ApiError(401, UNAUTHORIZED)
        if self._docs.get("revoked", claims["audit"][0]) is not None:
            raise ApiError(401, UNAUTHORIZED)
        return self._confirm(ident, claims)

    def revoke(self, token: Token) -> None:
        self._docs.put("revoked", {"id": token.audit_ids[0], "expires": token.expires_at})

    def forget_expired(self) -> None:
        """Drop the revocations of tokens that have expired by themselves."""
        present = _stamp(datetime.datetime.now(datetime.UTC))
        for doc in self._docs.all("revoked"):
            if doc["expires"] < present:
                self._docs.drop("revoked", doc["id"])

    def _open(self, ident: str) -> dict[str, Any]:
        claims = self._opened.get(ident)
        if claims is None:
            try:
                claims = dict(json.loads(self._box.decrypt(ident.encode())))
            except (InvalidToken, ValueError) as exc:
                raise ApiError(401, UNAUTHORIZED) from exc
            if len(self._opened) > 10_000:
                self._opened.clear()
            self._opened[ident] = claims
        return claims

    def _confirm(self, ident: str, claims: dict[str, Any]) -> Token:
        user = self._enabled("user", claims["user"])
        if claims.get("secret_version", 0) != user.get("secret_version", 0):
            raise ApiError(401, UNAUTHORIZED)
        trust, credential, trustee = None, None, None
        project_id = claims.get("project")
        if claims.get("trust"):
            trust = self._docs.get("trust", claims["trust"])
            if trust is None:
                raise ApiError(404, f"Could not find trust: {claims['trust']}.")
            trustee = self._enabled("user", claims["user"])["id"]
            project_id = trust["project_id"]
            user = self._enabled("user", trust["trustor_user_id"]) if trust["impersonation"] else user
        elif claims.get("credential"):
            credential = self._docs.get("application_credential", claims["credential"])
            if credential is None:
                raise ApiError(401, UNAUTHORIZED)
            project_id = credential["project_id"]
        project = self._enabled("project", project_id) if project_id else None
        system = bool(claims.get("system"))
        roles = self._roles(user, "system" if system else project_id, trust, credential)
        if (project or system) and not roles:
            raise ApiError(401, UNAUTHORIZED)
        return Token(
            id=ident,
            user=user,
            project=project,
            roles=roles,
            methods=tuple(claims["methods"]),
            issued_at=claims["issued"],
            expires_at=claims["expires"],
            audit_ids=tuple(claims["audit"]),
            system=system,
            trust=trust,
            application_credential=credential,
            trustee_id=trustee,
        )

    def _enabled(self, kind: str, ident: str) -> Doc:
        doc = self._docs.get(kind, ident)
        if doc is None or not doc.get("enabled", True):
            raise ApiError(401, UNAUTHORIZED)
        return doc

    def _roles(self, user: Doc, scope: str | None, trust: Doc | None, credential: Doc | None) -> tuple[Doc, ...]:
        if not scope:
            return ()
        if trust is not None:
            held = {role["id"] for role in effective_roles(self._docs, trust["trustor_user_id"], scope)}
            if not set(trust["role_ids"]) <= held:
                raise ApiError(403, "You are not authorized to perform the requested action.")
            return effective_roles(self._docs, trust["trustor_user_id"], scope, only=trust["role_ids"])
        roles = effective_roles(self._docs, user["id"], scope)
        if credential is not None:
            return tuple(role for role in roles if role["id"] in credential["role_ids"])
        return roles
