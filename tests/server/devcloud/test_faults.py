"""The scriptable fault layer, over HTTP and in Python."""

import time

import pytest
import requests

from calor.server.devcloud.faults import Faults, Rule, Trouble


@pytest.fixture
def script(dev_cloud):
    headers = {"X-Admin-Token": dev_cloud.state.admin_token}

    def add(**rule):
        answer = requests.post(dev_cloud.url + "/faults", json=rule, headers=headers, timeout=5)
        assert answer.status_code == 201, answer.text

    return add


@pytest.fixture
def call(dev_cloud, demo):
    headers = {"X-Auth-Token": demo.auth_token}

    def send(method, path, **body):
        return requests.request(method, dev_cloud.url + path, json=body or None, headers=headers, timeout=5)

    return send


def test_an_error_strikes_as_often_as_told_and_changes_nothing(script, call):
    script(trouble="error", method="POST", path="/networks$", times=2, status=503, message="Gone fishing.")
    answers = [call("POST", "/network/v2.0/networks", network={"name": "x"}) for _ in range(3)]
    assert [one.status_code for one in answers] == [503, 503, 201]
    assert answers[0].json()["NeutronError"]["message"] == "Gone fishing."
    assert len(call("GET", "/network/v2.0/networks?name=x").json()["networks"]) == 1


def test_an_answer_is_lost_after_the_effect(script, call):
    script(trouble="lost", method="POST", path="/networks$")
    with pytest.raises(requests.ConnectionError):
        call("POST", "/network/v2.0/networks", network={"name": "x"})
    assert len(call("GET", "/network/v2.0/networks?name=x").json()["networks"]) == 1


def test_busy_quota_and_delay(script, call):
    script(trouble="busy", path="/flavors", seconds=3)
    busy = call("GET", "/compute/v2.1/flavors")
    assert (busy.status_code, busy.headers["Retry-After"]) == (429, "3")
    script(trouble="quota", path="/servers")
    refused = call("POST", "/compute/v2.1/servers", server={})
    assert (refused.status_code, "Quota exceeded" in refused.json()["forbidden"]["message"]) == (403, True)
    script(trouble="quota", path="/ports")
    assert call("POST", "/network/v2.0/ports", port={}).json()["NeutronError"]["type"] == "OverQuota"
    script(trouble="delay", path="/flavors", seconds=0.3)
    began = time.monotonic()
    assert call("GET", "/compute/v2.1/flavors").status_code == 200
    assert time.monotonic() - began >= 0.3


def test_a_broken_volume_ends_in_error(dev_cloud, script, call):
    script(trouble="broken", method="POST", path="/volumes$")
    project = call("GET", "/identity/v3/auth/projects").json()["projects"][0]["id"]
    made = call("POST", f"/volume/v3/{project}/volumes", volume={"size": 1}).json()["volume"]
    dev_cloud.settle()
    assert call("GET", f"/volume/v3/{project}/volumes/{made['id']}").json()["volume"]["status"] == "error"


def test_faults_are_listed_cleared_and_guarded(dev_cloud, script):
    url, headers = dev_cloud.url + "/faults", {"X-Admin-Token": dev_cloud.state.admin_token}
    assert requests.get(url, timeout=5).status_code == 401
    script(trouble="error", path="x")
    assert [rule["path"] for rule in requests.get(url, headers=headers, timeout=5).json()["faults"]] == ["x"]
    assert requests.post(url, json={"trouble": "nonsense"}, headers=headers, timeout=5).status_code == 400
    assert requests.post(url, json={"trouble": "error", "bogus": 1}, headers=headers, timeout=5).status_code == 400
    assert requests.delete(url, headers=headers, timeout=5).status_code == 204
    assert requests.get(url, headers=headers, timeout=5).json()["faults"] == []


def test_a_rule_may_let_some_calls_pass_first():
    faults = Faults()
    faults.add(Rule(trouble=Trouble.ERROR, method="GET", path="^/a", skip=1, times=1))
    assert [faults.strike("GET", "/a") is not None for _ in range(3)] == [False, True, False]
    assert faults.strike("POST", "/a") is None
