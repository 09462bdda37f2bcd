"""The door against a real Keystone: trusts, application credentials, restricted tokens, few logins."""

import uuid
from typing import Any

import pytest
import requests

from calor.server.cloud.credentials import CredentialKind, Credentials
from calor.server.cloud.errors import CloudError, CloudRefused
from calor.server.cloud.sdk import SdkDoor
from calor.server.errors import Forbidden
from calor.server.identity.callers import Caller
from calor.server.resources.collections import FLAVORS, NETWORKS

pytestmark = pytest.mark.slow


def given(caller: Caller) -> Credentials:
    return Credentials(
        kind=CredentialKind.TOKEN, project_id=caller.project_id, user_id=caller.user_id, secret=caller.token
    )


def application_credential(lab: Any, caller: Caller, *, unrestricted: bool) -> dict[str, str]:
    answer = requests.post(
        f"{lab.auth['auth_url']}/users/{caller.user_id}/application_credentials",
        headers={"X-Auth-Token": caller.token},
        json={"application_credential": {"name": f"calor-{uuid.uuid4()}", "unrestricted": unrestricted}},
        timeout=60,
    )
    answer.raise_for_status()
    made = answer.json()["application_credential"]
    return {"id": made["id"], "secret": made["secret"]}


async def test_f142_a_trust_works_after_the_users_token_is_gone(lab: Any, door: SdkDoor) -> None:
    caller = lab.login()
    trust = await door.delegate(caller)
    lab.logout(caller)
    with pytest.raises(CloudRefused):
        await door.open(given(caller)).list(NETWORKS)
    networks = await door.open(trust).list(NETWORKS)
    assert "private" in {network["name"] for network in networks}
    await door.revoke(trust)
    await door.revoke(trust)
    with pytest.raises(CloudError):
        await door.open(trust).list(NETWORKS)


async def test_an_application_credential_works_and_a_restricted_ones_token_cannot_delegate(
    lab: Any, door: SdkDoor
) -> None:
    caller = lab.login()
    secret = application_credential(lab, caller, unrestricted=False)
    own = Credentials(
        kind=CredentialKind.APPLICATION_CREDENTIAL,
        project_id=caller.project_id,
        user_id=caller.user_id,
        ident=secret["id"],
        secret=secret["secret"],
    )
    assert await door.open(own).list(FLAVORS)
    restricted = lab.login(methods=["application_credential"], application_credential=secret)
    assert await door.open(given(restricted)).list(FLAVORS), "its token does without being exchanged"
    with pytest.raises(Forbidden, match="--unrestricted"):
        await door.delegate(restricted)
    requests.delete(
        f"{lab.auth['auth_url']}/users/{caller.user_id}/application_credentials/{secret['id']}",
        headers={"X-Auth-Token": caller.token},
        timeout=60,
    ).raise_for_status()


async def test_names_are_found_and_what_is_missing_is_none(lab: Any, door: SdkDoor) -> None:
    cloud = door.open(given(lab.login()))
    record = await cloud.find(FLAVORS, "m1.nano")
    assert record is not None and (await cloud.find(FLAVORS, str(record["id"])))
    assert await cloud.find(NETWORKS, "no such network") is None
    assert (await cloud.endpoint("compute")).startswith("http://127.0.0.1")
    with pytest.raises(CloudError, match="R2"):
        await cloud.endpoint("compute", region="R2")
