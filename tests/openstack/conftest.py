"""Tests against a real OpenStack: collected only where CALOR_LAB names its clouds.yaml (scripts/test-openstack)."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from calor.server.cloud.credentials import CredentialKind, Credentials
from calor.server.cloud.sdk import SdkDoor
from calor.server.cloud.settings import CloudSettings
from calor.server.identity.callers import Caller
from calor.server.resources.base import StackFacts
from calor.server.resources.memory import Workshop

LAB = os.environ.get("CALOR_LAB", "")
collect_ignore_glob = [] if LAB else ["test_*.py"]


class Lab:
    """The lab's clouds, and users logged in there."""

    def __init__(self, clouds: Path) -> None:
        self.clouds: dict[str, Any] = yaml.safe_load(clouds.read_text())["clouds"]
        self.auth: dict[str, str] = self.clouds["lab-demo"]["auth"]

    @property
    def settings(self) -> CloudSettings:
        return CloudSettings(
            auth_url=self.auth["auth_url"], username="heat", password=self.auth["password"], region="RegionOne"
        )

    def login(self, cloud: str = "lab-demo", **identity: Any) -> Caller:
        auth = self.clouds[cloud]["auth"]
        user = {
            "name": auth["username"],
            "password": auth["password"],
            "domain": {"name": auth["user_domain_name"]},
        }
        body: dict[str, Any] = {
            "identity": identity or {"methods": ["password"], "password": {"user": user}},
        }
        if not identity:
            project = {"name": auth["project_name"], "domain": {"name": auth["project_domain_name"]}}
            body["scope"] = {"project": project}
        answer = requests.post(f"{auth['auth_url']}/auth/tokens", json={"auth": body}, timeout=60)
        answer.raise_for_status()
        token = answer.json()["token"]
        return Caller(
            user_id=token["user"]["id"],
            project_id=token["project"]["id"],
            roles=frozenset(role["name"] for role in token["roles"]),
            token=answer.headers["X-Subject-Token"],
        )


def given(caller: Caller) -> Credentials:
    return Credentials(
        kind=CredentialKind.TOKEN, project_id=caller.project_id, user_id=caller.user_id, secret=caller.token
    )


@pytest.fixture(scope="session")
def lab() -> Lab:
    return Lab(Path(LAB))


@pytest.fixture
async def door(lab: Lab) -> AsyncIterator[SdkDoor]:
    door = SdkDoor(lab.settings)
    yield door
    await door.close()


@pytest.fixture
def workshop(lab: Lab, door: SdkDoor) -> Workshop:
    """The user `demo` at work in a stack of his own."""
    caller = lab.login()
    facts = StackFacts(id="s", name="calor-test", project_id=caller.project_id, user_id=caller.user_id, root_id="s")
    return Workshop(door.open(given(caller)), stack=facts)
