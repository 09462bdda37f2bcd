"""Keystone: logging in, trusts, application credentials, the directory; by plain HTTP and keystoneauth."""

import pytest
import requests
from keystoneauth1 import session
from keystoneauth1.identity import v3


class Identity:
    def __init__(self, cloud):
        self.cloud = cloud
        self.base = cloud.state.identity

    def log_in(self, identity, scope=None):
        body = {"auth": {"identity": identity}}
        if scope is not None:
            body["auth"]["scope"] = scope
        return requests.post(f"{self.base}/auth/tokens", json=body, timeout=10)

    def password(self, user, password=None):
        given = password or self.cloud.state.passwords[user]
        named = {"name": user, "domain": {"id": "default"}, "password": given}
        return {"methods": ["password"], "password": {"user": named}}

    def token(self, user, project):
        scope = {"project": {"name": project, "domain": {"id": "default"}}}
        answer = self.log_in(self.password(user), scope)
        assert answer.status_code == 201, answer.text
        return answer.headers["X-Subject-Token"], answer.json()["token"]

    def call(self, method, path, token, body=None, **headers):
        given = {"X-Auth-Token": token, **headers}
        return requests.request(method, self.base + path, json=body, headers=given, timeout=10)


@pytest.fixture
def identity(dev_cloud):
    return Identity(dev_cloud)


def trust_body(trustor, trustee, project, role="member", **more):
    return {
        "trust": {
            "trustor_user_id": trustor,
            "trustee_user_id": trustee,
            "project_id": project,
            "impersonation": True,
            "roles": [{"name": role}],
            **more,
        }
    }


def test_a_scoped_token_carries_roles_project_and_catalog(identity):
    _, body = identity.token("demo", "demo")
    assert {r["name"] for r in body["roles"]} == {"member", "reader", "heat_stack_owner"}
    assert body["project"]["name"] == "demo"
    types = {entry["type"] for entry in body["catalog"]}
    assert types >= {"identity", "compute", "image", "network", "block-storage", "volumev3", "object-store"}
    assert types >= {"orchestration", "cloudformation"}


def test_without_a_scope_the_default_project_is_used_unless_unscoped_is_asked_for(identity):
    assert identity.log_in(identity.password("demo")).json()["token"]["project"]["name"] == "demo"
    assert "project" not in identity.log_in(identity.password("demo"), "unscoped").json()["token"]


@pytest.mark.parametrize("project", ["admin", "nope"])
def test_a_project_without_a_role_is_refused_as_keystone_does(identity, project):
    scope = {"project": {"name": project, "domain": {"id": "default"}}}
    answer = identity.log_in(identity.password("demo"), scope)
    assert answer.status_code == 401
    assert answer.json()["error"]["message"] == "The request you have made requires authentication."


def test_a_wrong_password_is_refused(identity):
    assert identity.log_in(identity.password("demo", "wrong")).status_code == 401


def test_the_service_user_validates_others_tokens_and_others_do_not(identity):
    demo, _ = identity.token("demo", "demo")
    service, _ = identity.token("calor", "service")
    answer = identity.call("GET", "/auth/tokens", service, **{"X-Subject-Token": demo})
    assert answer.json()["token"]["user"]["name"] == "demo"
    assert identity.call("HEAD", "/auth/tokens", service, **{"X-Subject-Token": demo}).status_code == 200
    assert identity.call("GET", "/auth/tokens", demo, **{"X-Subject-Token": service}).status_code == 403
    assert identity.call("GET", "/auth/tokens", service, **{"X-Subject-Token": "rubbish"}).status_code == 404


def test_a_revoked_token_is_dead(identity):
    demo, _ = identity.token("demo", "demo")
    assert identity.call("DELETE", "/auth/tokens", demo, **{"X-Subject-Token": demo}).status_code == 204
    assert identity.call("GET", "/auth/projects", demo).status_code == 401


def test_a_trust_lets_the_trustee_act_as_the_trustor(identity):
    demo, body = identity.token("demo", "demo")
    _, service = identity.token("calor", "service")
    ids = (body["user"]["id"], service["user"]["id"], body["project"]["id"])
    made = identity.call("POST", "/OS-TRUST/trusts", demo, trust_body(*ids))
    assert made.status_code == 201
    trust = made.json()["trust"]
    answer = identity.log_in(identity.password("calor"), {"OS-TRUST:trust": {"id": trust["id"]}})
    acting = answer.json()["token"]
    assert (acting["user"]["name"], acting["project"]["name"]) == ("demo", "demo")
    assert {r["name"] for r in acting["roles"]} == {"member", "reader"}
    assert acting["OS-TRUST:trust"]["trustee_user"]["id"] == ids[1]

    delegated = answer.headers["X-Subject-Token"]
    again = identity.log_in({"methods": ["token"], "token": {"id": delegated}}, {"project": {"id": ids[2]}})
    assert again.status_code == 403
    assert identity.call("POST", "/OS-TRUST/trusts", delegated, trust_body(*ids)).status_code == 403

    listed = identity.call("GET", f"/OS-TRUST/trusts?trustor_user_id={ids[0]}", demo).json()["trusts"]
    assert [one["id"] for one in listed] == [trust["id"]]
    assert identity.call("DELETE", f"/OS-TRUST/trusts/{trust['id']}", demo).status_code == 204
    assert identity.call("DELETE", f"/OS-TRUST/trusts/{trust['id']}", demo).status_code == 404
    assert identity.call("GET", "/auth/projects", delegated).status_code == 401


def test_only_the_trustee_uses_a_trust_and_only_held_roles_are_delegated(identity):
    demo, body = identity.token("demo", "demo")
    _, service = identity.token("calor", "service")
    ids = (body["user"]["id"], service["user"]["id"], body["project"]["id"])
    trust = identity.call("POST", "/OS-TRUST/trusts", demo, trust_body(*ids)).json()["trust"]
    scope = {"OS-TRUST:trust": {"id": trust["id"]}}
    assert identity.log_in(identity.password("admin"), scope).status_code == 403
    assert identity.call("POST", "/OS-TRUST/trusts", demo, trust_body(*ids, role="admin")).status_code == 404
    assert identity.call("POST", "/OS-TRUST/trusts", demo, trust_body(*ids, roles=[])).status_code == 403


@pytest.mark.parametrize(("unrestricted", "status"), [(False, 403), (True, 201)])
def test_an_application_credential_makes_no_trusts_and_an_unrestricted_one_others_of_its_kind(
    identity, unrestricted, status
):
    demo, body = identity.token("demo", "demo")
    _, service = identity.token("calor", "service")
    path = f"/users/{body['user']['id']}/application_credentials"
    asked = {"application_credential": {"name": "ac", "unrestricted": unrestricted}}
    made = identity.call("POST", path, demo, asked).json()["application_credential"]
    assert identity.call("POST", path, demo, asked).status_code == 409
    named = {"id": made["id"], "secret": made["secret"]}
    answer = identity.log_in({"methods": ["application_credential"], "application_credential": named})
    assert answer.json()["token"]["application_credential"]["restricted"] is not unrestricted
    token = answer.headers["X-Subject-Token"]
    ids = (body["user"]["id"], service["user"]["id"], body["project"]["id"])
    assert identity.call("POST", "/OS-TRUST/trusts", token, trust_body(*ids)).status_code == 403
    second = {"application_credential": {"name": "ac2"}}
    assert identity.call("POST", path, token, second).status_code == status
    wrong = {"id": made["id"], "secret": "wrong"}
    refused = identity.log_in({"methods": ["application_credential"], "application_credential": wrong})
    assert refused.status_code == 401


def test_keystoneauth_finds_every_service(dev_cloud):
    auth = v3.Password(
        auth_url=dev_cloud.state.identity,
        username="demo",
        password=dev_cloud.state.passwords["demo"],
        project_name="demo",
        user_domain_name="Default",
        project_domain_name="Default",
    )
    with requests.Session() as http:
        opened = session.Session(auth=auth, session=http)
        for kind, version in (("compute", "2.1"), ("network", "2"), ("image", "2"), ("block-storage", "3")):
            found = auth.get_endpoint_data(opened, service_type=kind, min_version=version, max_version="latest")
            assert found.url, kind


def test_the_directory_is_the_admins(identity):
    admin, _ = identity.token("admin", "admin")
    demo, _ = identity.token("demo", "demo")
    assert identity.call("GET", "/users", demo).status_code == 403
    made = identity.call("POST", "/users", admin, {"user": {"name": "eve", "password": "pw"}}).json()["user"]
    assert "password" not in str(made).replace("password_expires_at", "")
    role = identity.call("GET", "/roles?name=member", admin).json()["roles"][0]["id"]
    project = identity.call("POST", "/projects", admin, {"project": {"name": "p"}}).json()["project"]["id"]
    grant = f"/projects/{project}/users/{made['id']}/roles/{role}"
    assert identity.call("PUT", grant, admin).status_code == 204
    scope = {"project": {"id": project}}
    answer = identity.log_in(identity.password("eve", "pw"), scope)
    assert answer.status_code == 201
    identity.call("PATCH", f"/users/{made['id']}", admin, {"user": {"password": "new"}})
    assert identity.call("GET", "/auth/projects", answer.headers["X-Subject-Token"]).status_code == 401
    assert identity.call("DELETE", f"/users/{made['id']}", admin).status_code == 204
    assert identity.log_in(identity.password("eve", "new"), scope).status_code == 401
