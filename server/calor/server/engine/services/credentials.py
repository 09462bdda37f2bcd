"""With which rights a stack is worked on: a trust where the caller can give one, else his token (design §5: a stack
that needs no deferred work runs with any token; one that asks no cloud for anything needs no trust)."""

import logging
from collections.abc import Mapping
from typing import Any

from calor.server.cloud.credentials import CredentialKind, Credentials
from calor.server.cloud.door import CloudDoor
from calor.server.cloud.errors import CloudError
from calor.server.engine.revision.nested_checks import Findings
from calor.server.errors import Forbidden
from calor.server.identity import Caller

log = logging.getLogger(__name__)


def of_token(caller: Caller, region: str | None) -> Credentials:
    return Credentials(
        kind=CredentialKind.TOKEN,
        project_id=caller.project_id,
        user_id=caller.user_id,
        secret=caller.token,
        region=region,
    )


async def delegated(door: CloudDoor, caller: Caller, findings: Findings, region: str | None) -> Mapping[str, Any]:
    """What the stack keeps, to be sealed: ``owner`` for the work, ``caller`` for when the owner's rights are gone.

    Raises `Forbidden` naming the resources that need deferred work where the caller cannot delegate.
    """
    token = of_token(caller, region).as_record()
    deferred = findings.deferred
    if not deferred and (caller.restricted or not findings.speaks_to_cloud):
        return {"owner": token, "caller": token}
    try:
        return {"owner": (await door.delegate(caller)).as_record(), "caller": token}
    except (Forbidden, CloudError) as error:
        if deferred:
            named = ", ".join(sorted(deferred))
            raise Forbidden(
                f"The resources {named} need work without your token, and it cannot be delegated: "
                f"{error.detail} Use a password, or an unrestricted application credential."
            ) from error
        log.info("working with the caller's token: it cannot be delegated", extra={"reason": error.detail})
        return {"owner": token, "caller": token}


async def renewed(
    door: CloudDoor, caller: Caller, findings: Findings, region: str | None, known: Mapping[str, Any]
) -> Mapping[str, Any]:
    """For an update: the caller's own trust stays; another user's is left for one of the caller (F143)."""
    owner = known.get("owner") or {}
    if owner.get("kind") not in (None, CredentialKind.TOKEN.value) and owner.get("user_id") == caller.user_id:
        return {"owner": owner, "caller": of_token(caller, region).as_record()}
    return await delegated(door, caller, findings, region)
