"""Rights that outlive a user's token: Keystone trusts from the user to the server's service user. Blocking code."""

from typing import Any

import openstack.connection
from keystoneauth1 import exceptions as keystone

from calor.server.cloud.credentials import CredentialKind, Credentials
from calor.server.cloud.door import Delegator
from calor.server.cloud.sessions import Sessions
from calor.server.cloud.settings import CloudSettings
from calor.server.errors import Forbidden

REMEDY = (
    "Use a password login or an application credential made with --unrestricted, or leave out what works after "
    "the request's token is gone (software deployments, signals that act on the cloud, autoscaling)."
)


def delegate(sessions: Sessions, settings: CloudSettings, caller: Delegator) -> Credentials:
    """A trust with impersonation and all of the caller's roles (or the configured ones among them).

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
        answer = identity(sessions.open(given), "POST", "/OS-TRUST/trusts", json={"trust": body})
    except (keystone.Forbidden, keystone.Unauthorized) as exc:
        raise Forbidden(f"This token cannot delegate work to the server: {exc.message} {REMEDY}") from exc
    finally:
        sessions.forget(given)
    return Credentials(
        kind=CredentialKind.TRUST,
        project_id=caller.project_id,
        user_id=caller.user_id,
        ident=answer.json()["trust"]["id"],
    )


def revoke(sessions: Sessions, credentials: Credentials) -> None:
    """Delete a trust as the user it acts for; where that user is gone, as the service user."""
    if credentials.kind is not CredentialKind.TRUST:
        return
    path = f"/OS-TRUST/trusts/{credentials.ident}"
    try:
        identity(sessions.open(credentials), "DELETE", path)
    except keystone.NotFound:
        return
    except (keystone.Forbidden, keystone.Unauthorized):
        try:
            identity(sessions.own(), "DELETE", path)
        except keystone.NotFound:
            return


def identity(connection: openstack.connection.Connection, method: str, path: str, **more: Any) -> Any:
    return connection.session.request(
        path,
        method,
        endpoint_filter={
            "service_type": "identity",
            "interface": connection.config.get_interface("identity"),
            "min_version": (3, 0),
            "max_version": (3, "latest"),
        },
        headers={"Accept": "application/json"},
        **more,
    )
