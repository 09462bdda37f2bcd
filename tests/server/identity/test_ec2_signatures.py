"""EC2 signatures, against other implementations of the signing side and AWS's published example."""

import hashlib
import hmac
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from keystoneclient.contrib.ec2.utils import Ec2Signer

from calor.server.identity.ec2 import Ec2Refused, Ec2Request, check, read

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
SECRET = "s3cr3t"


def v2_request(method: str = "GET", host: str = "169.254.169.253:8000", signed_host: str | None = None) -> Ec2Request:
    params = {
        "Action": "DescribeStackResource",
        "StackName": "a b~ü",
        "AWSAccessKeyId": "ak",
        "SignatureVersion": "2",
        "SignatureMethod": "HmacSHA256",
        "Timestamp": "2026-05-06T07:00:00Z",
    }
    query = "&".join(f"{quote(k, '-_~')}={quote(v, '-_~')}" for k, v in sorted(params.items()))
    text = f"{method}\n{signed_host or host}\n/v1/\n{query}"
    params["Signature"] = b64encode(hmac.digest(SECRET.encode(), text.encode(), hashlib.sha256)).decode()
    form = params if method == "POST" else {}
    return Ec2Request(
        method=method, host=host, path="/v1/", params={} if form else params, headers={}, form=form, body=b""
    )


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_version_2_in_query_or_form(method: str) -> None:
    request = v2_request(method)
    who = read(request)
    assert (who.access_key, who.version) == ("ak", 2)
    check(request, who, SECRET, now=NOW)


def test_version_2_may_have_signed_the_host_without_its_port() -> None:
    request = v2_request(signed_host="169.254.169.253")
    check(request, read(request), SECRET, now=NOW)


def test_a_wrong_secret_host_or_parameter_is_refused() -> None:
    request = v2_request()
    for changed, secret in (
        (request, "other"),
        (replace(request, host="elsewhere:8000"), SECRET),
        (replace(request, params={**request.params, "StackName": "x"}), SECRET),
    ):
        with pytest.raises(Ec2Refused) as refused:
            check(changed, read(changed), secret, now=NOW)
        assert refused.value.code == "SignatureDoesNotMatch"


def test_an_old_request_is_refused_with_both_clocks() -> None:
    request = v2_request()
    with pytest.raises(Ec2Refused, match=r"2026-05-06T07:00:00Z.*2026-05-06T08"):
        check(request, read(request), SECRET, now=NOW + timedelta(hours=1))


def test_no_signature_and_a_half_one_have_their_names() -> None:
    bare = Ec2Request(method="GET", host="h", path="/", params={}, headers={}, form={})
    for changed, code in (
        (bare, "MissingAuthenticationToken"),
        (replace(bare, params={"AWSAccessKeyId": "x"}), "IncompleteSignature"),
        (replace(bare, headers={"authorization": "AWS4-HMAC-SHA256 Credential=x"}), "IncompleteSignature"),
        (replace(bare, headers={"authorization": "AWS4-HMAC-SHA256"}), "IncompleteSignature"),
    ):
        with pytest.raises(Ec2Refused) as refused:
            read(changed)
        assert refused.value.code == code


def test_the_published_example_of_version_4() -> None:
    """https://docs.aws.amazon.com/IAM: GET iam ListUsers, 20150830."""
    request = Ec2Request(
        method="GET",
        host="iam.amazonaws.com",
        path="/",
        params={"Action": "ListUsers", "Version": "2010-05-08"},
        headers={
            "content-type": "application/x-www-form-urlencoded; charset=utf-8",
            "x-amz-date": "20150830T123600Z",
            "authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
            "SignedHeaders=content-type;host;x-amz-date, "
            "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
        },
        form={},
    )
    who = read(request)
    secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    check(request, who, secret, now=datetime(2015, 8, 30, 12, 40, tzinfo=UTC))
    with pytest.raises(Ec2Refused):
        check(replace(request, body=b"x"), who, secret, now=datetime(2015, 8, 30, 12, 40, tzinfo=UTC))


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_version_2_as_keystoneclient_makes_it(method: str) -> None:
    """What os-collect-config's cfn collector signs with."""
    params = {
        "Action": "DescribeStackResource",
        "StackName": "a b/ü",
        "AWSAccessKeyId": "ak",
        "SignatureVersion": "2",
        "SignatureMethod": "HmacSHA256",
    }
    signature = Ec2Signer(SECRET).generate(
        {"host": "cfn:8000", "verb": method, "path": "/v1/", "params": dict(params), "headers": {}, "body_hash": ""}
    )
    request = Ec2Request(
        method=method, host="cfn:8000", path="/v1/", params={**params, "Signature": signature}, headers={}, form={}
    )
    check(request, read(request), SECRET, now=NOW)


def test_version_4_as_keystoneclient_makes_it() -> None:
    headers = {"host": "cfn:8000", "x-amz-date": "20260506T070809Z"}
    params = {"Action": "DescribeStackResource", "StackName": "a b"}
    scope = "20260506/RegionOne/cloudformation/aws4_request"
    start = f"AWS4-HMAC-SHA256 Credential=ak/{scope},SignedHeaders=host;x-amz-date,Signature="
    signature = Ec2Signer(SECRET).generate(
        {
            "host": "cfn:8000",
            "verb": "GET",
            "path": "/v1/",
            "params": params,
            "headers": {"host": "cfn:8000", "X-Amz-Date": "20260506T070809Z", "Authorization": start},
            "body_hash": hashlib.sha256(b"").hexdigest(),
        }
    )
    request = Ec2Request(
        method="GET",
        host="cfn:8000",
        path="/v1/",
        params=params,
        headers={**headers, "authorization": start + signature},
        form={},
    )
    check(request, read(request), SECRET, now=NOW)
    with pytest.raises(Ec2Refused):
        check(replace(request, params={**params, "StackName": "b"}), read(request), SECRET, now=NOW)
