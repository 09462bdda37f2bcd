"""Metadata comes from the CloudFormation API by a signed request, and from disk when that cannot be asked."""

import json
from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlsplit

import pytest

from calor.cfntools import ec2, get_metadata, metadata
from calor.server.identity import ec2 as server_side

XML = """<DescribeStackResourceResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/">
<DescribeStackResourceResult><StackResourceDetail><Metadata>{}</Metadata></StackResourceDetail>
</DescribeStackResourceResult></DescribeStackResourceResponse>"""


@pytest.fixture
def guest(tmp_path, listener, monkeypatch):
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path))
    listener.answers = [(200, XML.format('{"a": {"b.c": "&lt;ü"}}').encode())]
    return tmp_path


def test_metadata_of_the_api_is_printed_and_kept(guest, listener, capsys):
    options = ["-s", "st", "-r", "res", "--access-key", "AK", "--secret-key", "SK", "-u", listener.url]
    assert get_metadata.main(options) == 0
    assert json.loads(capsys.readouterr().out) == {"a": {"b.c": "<ü"}}
    query = dict(parse_qsl(urlsplit(listener.requests[0][1]).query))
    assert query["Action"] == "DescribeStackResource"
    assert (query["StackName"], query["LogicalResourceId"], query["AWSAccessKeyId"]) == ("st", "res", "AK")
    kept = guest / "var/cache/heat-cfntools/last_metadata_res"
    assert kept.stat().st_mode & 0o777 == 0o600
    listener.answers = [500]
    assert get_metadata.main([*options, "-k", "a.'b.c'"]) == 0
    assert json.loads(capsys.readouterr().out) == "<ü"


def test_a_resource_that_is_not_there_has_no_metadata_of_another(guest, listener, capsys):
    options = ["-s", "st", "--access-key", "AK", "--secret-key", "SK", "-u", listener.url]
    assert get_metadata.main([*options, "-r", "res"]) == 0
    capsys.readouterr()
    for status, code, wanted in ((400, "InvalidParameterValue", 1), (403, "AccessDenied", 0), (400, "Throttling", 0)):
        listener.answers = [(status, f"<E><Error><Code>{code}</Code><Message>no</Message></Error></E>".encode())]
        assert get_metadata.main([*options, "-r", "typo"]) == wanted
        said = capsys.readouterr()
        assert f"the CloudFormation API answered {status}: {code}: no" in said.err
        assert bool(said.out) == (wanted == 0)


def test_metadata_that_cannot_be_kept_is_printed_all_the_same(guest, listener, capsys):
    (guest / "var").write_text("no directory")
    options = ["--access-key", "AK", "--secret-key", "SK", "-u", listener.url]
    assert get_metadata.main(["-s", "st", "-r", "res", *options]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == {"a": {"b.c": "<ü"}}
    assert "the metadata is not kept for when the API is away" in said.err


def test_unknown_key_prints_nothing_and_empty_name_fails(guest, listener, capsys):
    options = ["--access-key", "AK", "--secret-key", "SK", "-u", listener.url]
    assert get_metadata.main(["-s", "st", "-r", "res", *options, "-k", "x.y"]) == 0
    assert capsys.readouterr().out == ""
    assert get_metadata.main(["-s", " ", "-r", "res", *options]) == 1


def test_signature_version_2_agrees_with_the_servers_own_check():
    params = {"Action": "X y/é", "AWSAccessKeyId": "AK", "SignatureVersion": "2", "SignatureMethod": "HmacSHA256"}
    query = dict(parse_qsl(ec2.signed_query("GET", "http://Host:8000/v1/", params, "secret")))
    request = server_side.Ec2Request(method="GET", host="host:8000", path="/v1/", params=query, headers={}, form={})
    server_side.check(request, server_side.read(request), "secret", now=datetime.now(UTC))
    with pytest.raises(server_side.Ec2Refused):
        server_side.check(request, server_side.read(request), "other", now=datetime.now(UTC))


def test_lookup_by_dotted_key():
    assert metadata.lookup({"a": {"b": [1]}}, "a.b") == [1]
    assert metadata.lookup({"a": 1}, "a.b") is None
