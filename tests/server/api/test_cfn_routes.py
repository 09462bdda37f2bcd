"""The CFN listener: the Query API with signatures, and signed URLs."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode, urlsplit
from xml.etree import ElementTree

import pytest
from keystoneclient.contrib.ec2.utils import Ec2Signer

from calor.server.identity import SignedTarget, UrlKind

DESCRIBE = {"Action": "DescribeStackResource", "StackName": "shop", "LogicalResourceId": "server"}


def signed(
    cfn: Any, params: dict[str, str], *, access: str = "ak", secret: str = "sk", verb: str = "GET"
) -> dict[str, str]:
    """Signed as os-collect-config's cfn collector does."""
    full = {
        **params,
        "AWSAccessKeyId": access,
        "SignatureVersion": "2",
        "SignatureMethod": "HmacSHA256",
        "Timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    request = {
        "host": f"{cfn.host}:{cfn.port}",
        "verb": verb,
        "path": "/v1/",
        "params": dict(full),
        "headers": {},
        "body_hash": "",
    }
    return {**full, "Signature": Ec2Signer(secret).generate(request)}


async def test_an_agent_reads_its_metadata_as_xml(cfn: Any) -> None:
    answer = await cfn.get("/v1/", params=signed(cfn, DESCRIBE))
    assert (answer.status, answer.content_type) == (200, "application/xml")
    root = ElementTree.fromstring(await answer.text())
    detail = root.find("DescribeStackResourceResult/StackResourceDetail")
    assert root.tag == "DescribeStackResourceResponse"
    assert detail is not None
    assert detail.findtext("Metadata") == '{"deployments": [{"id": "c1", "config": "<&>"}]}'
    assert detail.findtext("LogicalResourceId") == "server"


async def test_an_agent_reads_its_metadata_as_json_by_get_and_post(cfn: Any) -> None:
    params = {**DESCRIBE, "ContentType": "JSON"}
    answers = [
        await cfn.get("/v1/", params=signed(cfn, params)),
        await cfn.post(
            "/v1/?ContentType=JSON",
            data=urlencode(signed(cfn, DESCRIBE, verb="POST")),
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        ),
        await cfn.post("/v1/", data=signed(cfn, params, verb="POST")),
        await cfn.post("/v1/", data=signed(cfn, {"Action": "Nonsense", "ContentType": "JSON"}, verb="POST")),
    ]
    for answered in (answers[0], answers[2]):
        body = await answered.json()
        detail = body["DescribeStackResourceResponse"]["DescribeStackResourceResult"]["StackResourceDetail"]
        assert detail["Metadata"] == {"deployments": [{"id": "c1", "config": "<&>"}]}
        assert detail["ResourceStatus"] == "CREATE_COMPLETE"
    assert answers[1].status == 403  # the query was not part of what was signed
    assert (await answers[3].json())["ErrorResponse"]["Error"]["Code"] == "InvalidAction"


async def error_code(answer: Any) -> str:
    root = ElementTree.fromstring(await answer.text())
    assert root.tag == "ErrorResponse"
    assert root.findtext("Error/Type") == "Sender"
    return root.findtext("Error/Code") or ""


async def test_f118_an_unknown_action_is_a_400_in_aws_xml(cfn: Any) -> None:
    for params, code in (({"Action": "Foo"}, "InvalidAction"), ({}, "MissingAction")):
        answer = await cfn.get("/v1/", params=params)
        assert (answer.status, await error_code(answer)) == (400, code)
    as_json = await cfn.get("/v1/", params={"Action": "Foo", "ContentType": "JSON"})
    assert (await as_json.json())["ErrorResponse"]["Error"]["Code"] == "InvalidAction"


@pytest.mark.parametrize(
    "action",
    [
        "CancelUpdateStack",
        "CreateStack",
        "DeleteStack",
        "DescribeStackEvents",
        "DescribeStackResources",
        "DescribeStacks",
        "EstimateTemplateCost",
        "GetTemplate",
        "ListStackResources",
        "ListStacks",
        "UpdateStack",
        "ValidateTemplate",
    ],
)
async def test_f156_an_instance_may_read_its_metadata_and_nothing_else(cfn: Any, action: str) -> None:
    answer = await cfn.get("/v1/", params=signed(cfn, {"Action": action, "StackName": "shop"}))
    assert (answer.status, await error_code(answer)) == (403, "AccessDenied")


async def test_f156_an_instance_may_not_read_another_resource(cfn: Any) -> None:
    answer = await cfn.get("/v1/", params=signed(cfn, {**DESCRIBE, "LogicalResourceId": "db"}))
    assert (answer.status, await error_code(answer)) == (403, "AccessDenied")


async def test_bad_signatures_have_awss_names(cfn: Any) -> None:
    for params, code, status in (
        (DESCRIBE, "MissingAuthenticationToken", 403),
        (signed(cfn, DESCRIBE, secret="no"), "SignatureDoesNotMatch", 403),
        (signed(cfn, DESCRIBE, access="nobody"), "InvalidClientTokenId", 403),
        ({**DESCRIBE, "AWSAccessKeyId": "ak"}, "IncompleteSignature", 400),
        (signed(cfn, {"Action": "DescribeStackResource"}), "MissingParameter", 400),
    ):
        answer = await cfn.get("/v1/", params=params)
        assert (answer.status, await error_code(answer)) == (status, code)


def signed_path(engine: Any, kind: UrlKind) -> str:
    target = SignedTarget(
        kind=kind, project_id="proj1", stack_name="shop", stack_id="shop-id", resource_name="wait ü", resource_id="h1"
    )
    split = urlsplit(engine.guests.signer.sign("http://guest:8000", target, at=datetime.now(UTC)))
    return f"{split.path}?{split.query}"


@pytest.mark.parametrize("content_type", [None, "", "text/plain", "application/json; charset=utf-8"])
@pytest.mark.parametrize(("kind", "method"), [(UrlKind.WAIT_CONDITION, "PUT"), (UrlKind.SIGNAL, "POST")])
async def test_f043_a_signed_signal_counts_whatever_its_content_type(
    cfn: Any, engine: Any, content_type: str | None, kind: UrlKind, method: str
) -> None:
    from yarl import URL

    headers = {} if content_type is None else {"Content-Type": content_type}
    url = URL(str(cfn.make_url("/")).rstrip("/") + signed_path(engine, kind), encoded=True)
    answer = await cfn.session.request(
        method, url, data=b'{"Status": "SUCCESS"}', headers=headers, skip_auto_headers=["Content-Type"]
    )
    assert answer.status == 200
    assert engine.guests.signals == [("wait ü", {"Status": "SUCCESS"})]


async def test_a_signal_with_a_wrong_signature_is_refused(cfn: Any, engine: Any) -> None:
    path = signed_path(engine, UrlKind.SIGNAL)
    answer = await cfn.post(path[:-3] + "AA%3D")
    assert (answer.status, await error_code(answer)) == (403, "AccessDenied")
    assert engine.guests.signals == []
    assert (await cfn.post("/v1/signal/x")).status == 403
