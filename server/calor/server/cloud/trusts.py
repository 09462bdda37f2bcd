"""Rights that outlive a user's token: Keystone trusts from the user to the server's service user; where Keystone lets
a token make none, application credentials. Blocking code."""

import uuid
from typing import Any

from keystoneauth1 import exceptions as keystone
from keystoneauth1 import session

from calor.server.cloud.credentials import CredentialKind, Credentials
from calor.server.cloud.door import Delegator
from calor.server.cloud.sessions import Sessions, identity_v3
from calor.server.cloud.settings import CloudSettings
from calor.server.errors import Forbidden

REMEDY = (
    "Use a password login or an application credential made with --unrestricted, or leave out what works after "
    "the request's token is gone (software deployments, signals that act on the cloud, autoscaling)."
)


def delegate(sessions: Sessions, settings: CloudSettings, caller: Delegator) -> Credentials:
    """A trust with impersonation and all of the caller's roles (or the configured ones among them). Newer Keystones
    give no trust to the token of an application credential, and an application credential to that of an unrestricted
    one: then it is that.

    Raises `Forbidden` with the remedy.
    """
    if caller.restricted:
        raise Forbidden(f"This token cannot delegate work to the server. {REMEDY}")
    trustee = sessions.own().session.get_user_id()
    given = Credentials(
        kind=CredentialKind.TOKEN, project_id=caller.project_id, user_id=caller.user_id, secret=caller.token
    )
    roles = [role for role in sorted(caller.roles) if not settings.delegated_roles or role in settings.delegated_roles]
    if not roles:
        raise Forbidden(f"You have none of the roles that are delegated here: {', '.join(settings.delegated_roles)}.")
    body = {
        "trustor_user_id": caller.user_id,
        "trustee_user_id": trustee,
        "project_id": caller.project_id,
        "impersonation": True,
        "roles": [{"name": role} for role in roles],
    }
    try:
        answer = identity(sessions.logged_in(given), settings, "POST", "/OS-TRUST/trusts", json={"trust": body})
        return Credentials(
            kind=CredentialKind.TRUST,
            project_id=caller.project_id,
            user_id=caller.user_id,
            ident=answer.json()["trust"]["id"],
        )
    except (keystone.Forbidden, keystone.Unauthorized) as exc:
        own = _application_credential(sessions.logged_in(given), settings, caller, roles)
        if own is None:
            raise Forbidden(f"This token cannot delegate work to the server: {exc.message} {REMEDY}") from exc
        return own


def _application_credential(
    logged_in: session.Session, settings: CloudSettings, caller: Delegator, roles: list[str]
) -> Credentials | None:
    """A restricted one of the caller's roles; None where his token may not make one."""
    name = f"calor-{uuid.uuid4()}"
    body = {"name": name, "roles": [{"name": role} for role in roles], "description": "Deferred work of a stack"}
    path = f"/users/{caller.user_id}/application_credentials"
    try:
        answer = identity(logged_in, settings, "POST", path, json={"application_credential": body})
    except (keystone.Forbidden, keystone.Unauthorized):
        return None
    made = answer.json()["application_credential"]
    return Credentials(
        kind=CredentialKind.APPLICATION_CREDENTIAL,
        project_id=caller.project_id,
        user_id=caller.user_id,
        ident=made["id"],
        secret=made["secret"],
    )


def revoke(sessions: Sessions, settings: CloudSettings, credentials: Credentials) -> None:
    """Delete a trust as the user it acts for; where that user is gone, as the service user. An application credential
    that is restricted cannot delete itself: the service user does."""
    if credentials.kind is CredentialKind.APPLICATION_CREDENTIAL:
        path = f"/users/{credentials.user_id}/application_credentials/{credentials.ident}"
        try:
            identity(sessions.own().session, settings, "DELETE", path)
        except keystone.NotFound:
            return
    if credentials.kind is not CredentialKind.TRUST:
        return
    path = f"/OS-TRUST/trusts/{credentials.ident}"
    try:
        identity(sessions.logged_in(credentials), settings, "DELETE", path)
    except keystone.NotFound:
        return
    except (keystone.Forbidden, keystone.Unauthorized):
        try:
            identity(sessions.own().session, settings, "DELETE", path)
        except keystone.NotFound:
            return


def identity(logged_in: session.Session, settings: CloudSettings, method: str, path: str, **more: Any) -> Any:
    """One call to the Keystone that the server is configured with: no catalog is asked for the way to it."""
    target = identity_v3(settings.auth_url)
    return logged_in.request(path, method, endpoint_override=target, headers={"Accept": "application/json"}, **more)
