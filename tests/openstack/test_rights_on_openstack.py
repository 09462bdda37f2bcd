"""With whose rights stacks are worked on: trusts, application credentials, other projects. Keystone checks tokens."""

import time
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
]  # openstacksdk of itself
HOT = "2021-04-16"
NET = {"type": "OS::Neutron::Net"}
DEPLOYMENT = {
    "config": {"type": "OS::Heat::SoftwareConfig", "properties": {"group": "script", "config": "true"}},
    "deployment": {
        "type": "OS::Heat::SoftwareDeployment",
        "properties": {
            "config": {"get_resource": "config"},
            "server": "00000000-0000-0000-0000-000000000000",
            "signal_transport": "NO_SIGNAL",
        },
    },
}


def template(**resources: Any) -> dict[str, Any]:
    return {"heat_template_version": HOT, "resources": resources}


def later(pause: str) -> dict[str, Any]:
    """A network and a volume that are made once somebody has signalled."""
    wait = {"handle": {"get_resource": "handle"}, "timeout": pause}
    return template(
        handle={"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "CFN_SIGNAL"}},
        wait={"type": "OS::Heat::WaitCondition", "properties": wait},
        net={**NET, "depends_on": "wait"},
        volume={"type": "OS::Cinder::Volume", "properties": {"size": 1}, "depends_on": "wait"},
    )


@pytest.fixture
def credential(cli: Any) -> Iterator[Any]:
    """Makes application credentials of the user `demo`; answers the name of a cloud that logs in with one."""
    made: list[str] = []

    def make(*options: str) -> str:
        name = f"calor-{uuid.uuid4().hex[:6]}"
        found = cli.json("application", "credential", "create", *options, name)
        made.append(found["ID"])
        return str(cli.user(name, application_credential_id=found["ID"], application_credential_secret=found["Secret"]))

    yield make
    for ident in made:
        cli.openstack("application", "credential", "delete", ident)


@pytest.fixture
def stranger(cli: Any) -> Iterator[str]:
    """A user of another project."""
    name = f"calor-{uuid.uuid4().hex[:6]}"
    project = cli.json("project", "create", name, cloud="admin")["id"]
    user = cli.json("user", "create", "--project", project, "--password", name, name, cloud="admin")["id"]
    cli.openstack("role", "add", "--user", user, "--project", project, "member", cloud="admin")
    domain = {"user_domain_name": "Default", "project_domain_name": "Default"}
    yield cli.user(name, username=name, password=name, project_name=name, **domain)
    cli.openstack("user", "delete", user, cloud="admin")
    cli.openstack("project", "delete", project, cloud="admin")


def post(lab: Any, caller: Any, name: str, body: dict[str, Any]) -> None:
    answer = requests.post(
        f"{lab.orchestration}/v1/{caller.project_id}/stacks",
        headers={"X-Auth-Token": caller.token},
        json={"stack_name": name, "template": body, "timeout_mins": 5},
        timeout=60,
    )
    assert answer.status_code == 201, answer.text


def signal(lab: Any, cli: Any, name: str) -> None:
    """As a guest does, without a user's token: the handle's signed URL, at this machine's address of the server."""
    until = time.monotonic() + 60
    while not (url := cli.json("stack", "resource", "show", name, "handle")["attributes"].get("endpoint")):
        assert time.monotonic() < until
    parts = urlsplit(url)
    answer = requests.post(f"{lab.cfn}{parts.path}?{parts.query}", json={"status": "SUCCESS", "id": "1"}, timeout=60)
    assert answer.status_code == 200, f"{parts.path}: {answer.status_code} {answer.text}"


def test_f142_work_goes_on_by_trust_after_the_users_token_is_revoked(lab: Any, cli: Any, stacks: Any) -> None:
    name, caller, before = stacks.name("trust"), lab.login(), cli.census()["trusts"]
    post(lab, caller, name, later("300"))
    assert cli.census()["trusts"] == before + 1
    lab.logout(caller)
    signal(lab, cli, name)
    assert stacks.state(name) == "CREATE_COMPLETE"
    assert cli.connection().network.get_network(cli.physical(name)["net"]).status == "ACTIVE"
    stacks.delete(name)
    assert cli.census()["trusts"] == before, "the trust ends with its stack"


def test_work_goes_on_by_an_unrestricted_application_credential(
    lab: Any, cli: Any, credential: Any, stacks: Any
) -> None:
    user = credential("--unrestricted")
    name = stacks.name("credential", user)
    cli.openstack("stack", "create", "-t", stacks.write(later("300")), name, cloud=user)
    signal(lab, cli, name)
    assert stacks.state(name) == "CREATE_COMPLETE"
    stacks.update(name, template(net=NET, **DEPLOYMENT))
    stacks.delete(name)


def test_f141_a_restricted_application_credential_does_for_a_stack_without_deferred_work(
    lab: Any, cli: Any, credential: Any, stacks: Any
) -> None:
    user, before = credential(), cli.census()["trusts"]
    body = template(net=NET, volume={"type": "OS::Cinder::Volume", "properties": {"size": 1}})
    name = stacks.create("restricted", body, cloud=user)
    assert cli.census()["trusts"] == before
    body["resources"]["net"] = {**NET, "properties": {"name": "renamed"}}
    stacks.update(name, body)
    assert cli.connection().network.get_network(cli.physical(name)["net"]).name == "renamed"
    stacks.delete(name)


@pytest.mark.parametrize("nested", [False, True], ids=["its own", "in a nested template"])
def test_f141_what_needs_a_trust_is_refused_to_a_restricted_credential_with_the_remedy(
    lab: Any, cli: Any, credential: Any, stacks: Any, nested: bool
) -> None:
    user, body = credential(), template(net=NET, **DEPLOYMENT)
    if nested:
        stacks.write(body, "inner.yaml")
        body = template(inner={"type": "inner.yaml"})
    name = stacks.name("refused", user)
    answer = cli.run("stack", "create", "-t", stacks.write(body), name, cloud=user)
    assert answer.returncode != 0
    assert "deployment" in answer.stderr
    assert "--unrestricted" in answer.stderr
    assert stacks.state(name) == "GONE", "nothing was made"


def test_f157_another_projects_user_sees_no_stack_and_may_not_name_the_project(
    lab: Any, cli: Any, stacks: Any, stranger: str
) -> None:
    name = stacks.create("private", template(net=NET))
    assert cli.run("stack", "show", name, cloud=stranger).returncode != 0
    assert name not in cli.openstack("stack", "list", cloud=stranger)
    other, mine = cli.connection(stranger), cli.connection()
    ident = mine.orchestration.find_stack(name).id
    headers = {"X-Auth-Token": other.auth_token}
    base = f"{lab.orchestration}/v1"
    own = f"{base}/{other.current_project_id}/stacks"
    foreign = f"{base}/{mine.current_project_id}/stacks"
    for url, wanted in (
        (f"{own}/{name}", 404),
        (f"{own}/{name}/{ident}", 404),
        (f"{own}/{name}/{ident}/resources", 404),
        (foreign, 403),
        (f"{foreign}/{name}/{ident}", 403),
    ):
        assert requests.get(url, headers=headers, timeout=60).status_code == wanted, url
    assert requests.delete(f"{own}/{name}/{ident}", headers=headers, timeout=60).status_code == 404
    assert requests.get(f"{foreign}/{name}/{ident}", headers={"X-Auth-Token": "x"}, timeout=60).status_code == 401
    stacks.delete(name)
