"""SignalResource of the CloudFormation API, as ``cfn-signal --stack --resource`` sends it: by the pair of a server, for
resources of its own stack."""

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from keystoneclient.contrib.ec2.utils import Ec2Signer

pytestmark = pytest.mark.slow

MACHINE = {"type": "OS::Heat::DeployedServer"}


def send(desk: Any, pair: dict[str, Any], **params: str) -> tuple[int, Any]:
    """A request of the Query API, signed as AWS's and Heat's tools do."""
    full = {
        "Action": "SignalResource",
        "ContentType": "JSON",
        "AWSAccessKeyId": pair["access_key_id"],
        "SignatureVersion": "2",
        "SignatureMethod": "HmacSHA256",
        "Timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        **params,
    }
    host = str(desk.cloud.ready["cfn"]).rpartition("//")[2]
    request = {"host": host, "verb": "GET", "path": "/v1/", "params": dict(full), "headers": {}, "body_hash": ""}
    full["Signature"] = Ec2Signer(pair["secret_access_key"]).generate(request)
    return tuple(desk.fetch(f"{desk.cloud.ready['cfn']}/v1/?{urlencode(full)}"))  # type: ignore[return-value]


def test_f156_a_server_signals_conditions_handles_and_deployments_of_its_own_stack(desk: Any, config: Any) -> None:
    used = {"config": {"get_resource": "config"}, "server": {"get_resource": "machine"}}
    waits = {"handle": {"get_resource": "handle"}, "timeout": 120, "count": 2}
    resources = {
        "machine": MACHINE,
        "config": config,
        "deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": used},
        "handle": {"type": "OS::Heat::WaitConditionHandle"},
        "condition": {"type": "OS::Heat::WaitCondition", "properties": waits},
    }
    desk.create("other", {"handle": {"type": "OS::Heat::WaitConditionHandle"}}, wait=True)
    desk.create("signalled", resources, outputs={"data": {"value": {"get_attr": ["condition", "data"]}}})
    pair = desk.until(lambda: desk.collected("signalled", "machine").get("cfn"))
    one = {"StackName": "signalled", "UniqueId": "i-1", "Status": "SUCCESS"}

    def until_taken(**params: str) -> None:
        desk.until(lambda: send(desk, pair, **params)[0] == 200)

    until_taken(**one, LogicalResourceId="handle")
    until_taken(**{**one, "UniqueId": "i-2"}, LogicalResourceId="condition")
    until_taken(**one, LogicalResourceId="deployment")
    found = desk.reached("signalled", "CREATE_COMPLETE")
    assert set(json.loads(found["data"])) == {"i-1", "i-2"}

    status, body = send(desk, pair, **{**one, "StackName": "other"}, LogicalResourceId="handle")
    assert status == 403, "F156: nothing beyond its own stack"
    assert body["ErrorResponse"]["Error"]["Code"] == "AccessDenied"
    assert send(desk, pair, **{**one, "Status": "MAYBE"}, LogicalResourceId="handle")[0] == 400
    assert send(desk, pair, **one, LogicalResourceId="nothing")[0] == 400
    assert send(desk, pair, StackName="signalled", LogicalResourceId="handle")[0] == 400
    assert send(desk, {**pair, "secret_access_key": "wrong"}, **one, LogicalResourceId="handle")[0] == 403


def test_a_failure_fails_the_condition(desk: Any) -> None:
    waits = {"handle": {"get_resource": "handle"}, "timeout": 120}
    resources = {
        "machine": MACHINE,
        "handle": {"type": "OS::Heat::WaitConditionHandle"},
        "condition": {"type": "OS::Heat::WaitCondition", "properties": waits},
    }
    desk.create("failed", resources)
    pair = desk.until(lambda: desk.collected("failed", "machine").get("cfn"))
    failure = {"StackName": "failed", "UniqueId": "i-1", "Status": "FAILURE", "LogicalResourceId": "condition"}
    desk.until(lambda: send(desk, pair, **failure)[0] == 200)
    desk.reached("failed", "CREATE_FAILED")
    assert "WaitConditionFailure" in desk.show("failed")["stack_status_reason"]
