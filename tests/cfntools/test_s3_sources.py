"""Files and sources from S3: signatures against Amazon's published examples and against moto, a server of PyPI that
checks them; what is sent again when the server wants it otherwise; which account is taken for which address."""

import io
import json
import subprocess
import tarfile
import time
import types
import urllib.parse
import urllib.request

import from_pypi
import pytest

from calor.cfntools import init, s3
from calor.cfntools.authentication import Authentication

# "Examples: Signature Calculations", Amazon S3 API Reference
PUBLISHED = s3.Key("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
MOMENT = 1369353600.0
TEN_YEARS = 10 * 365 * 86400

FILL = """
import boto3, json, sys, urllib.request
url, keys = sys.argv[1], sys.argv[2:]
known = {"endpoint_url": url, "region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "x"}
iam, s3 = boto3.client("iam", **known), boto3.client("s3", **known)
iam.create_user(UserName="guest")
allowed = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::private/*"}
policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
iam.put_user_policy(UserName="guest", PolicyName="read", PolicyDocument=policy)
key = iam.create_access_key(UserName="guest")["AccessKey"]
content = sys.stdin.buffer.read()
for bucket in ("private", "forbidden"):
    s3.create_bucket(Bucket=bucket)
    for name in keys:
        s3.put_object(Bucket=bucket, Key=name, Body=content)
strict = urllib.request.Request(url + "/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"}, method="POST")
urllib.request.urlopen(strict).read()
print(json.dumps({"accessKeyId": key["AccessKeyId"], "secretKey": key["SecretAccessKey"]}))
"""
ODD = "a b/ü+1~(2).tgz"


@pytest.fixture
def apply(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path / "no-root"))

    def run(config, **accounts):
        document = {"AWS::CloudFormation::Init": {"config": config}, "AWS::CloudFormation::Authentication": accounts}
        (tmp_path / "metadata.json").write_text(json.dumps(document))
        code = init.main(["-v", str(tmp_path / "metadata.json")])
        return code, capfd.readouterr()

    return run


@pytest.mark.parametrize(
    ("query", "signature"),
    [
        ("lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("prefix=J&max-keys=2", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ],
)
def test_signatures_are_those_of_amazons_examples(query, signature):
    url = s3.normal("https://examplebucket.s3.amazonaws.com/?" + query)
    sent = s3.headers(PUBLISHED, url, "us-east-1", MOMENT)
    assert sent["Authorization"].endswith("Signature=" + signature)
    assert sent["x-amz-date"] == "20130524T000000Z"


class Store:
    """moto with two buckets that hold one archive, and a user who may read the first."""

    def __init__(self, url, key):
        self.url, self.key = url, key


@pytest.fixture(scope="module")
def store(pytestconfig, tmp_path_factory):
    assert pytestconfig.cache is not None
    moto = from_pypi.environment(pytestconfig.cache.mkdir("moto"), "moto[s3]", "flask", "flask-cors")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("inside"))
    log = tmp_path_factory.mktemp("moto") / "log"
    with log.open("wb") as sink:
        server = subprocess.Popen([moto / "bin/moto_server", "-p", "0"], stdout=sink, stderr=sink)
    try:
        until = time.monotonic() + 60
        while "Running on http://" not in (said := log.read_text()):
            assert server.poll() is None, said
            assert time.monotonic() < until, said
            time.sleep(0.1)
        url = "http://" + said.partition("Running on http://")[2].split()[0]
        fill = [moto / "bin/python", "-c", FILL, url, "x.tgz", ODD]
        done = subprocess.run(fill, input=packed.getvalue(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode() + log.read_text()
        yield Store(url, json.loads(done.stdout))
    finally:
        server.terminate()
        server.wait(30)


@pytest.mark.slow
def test_a_bucket_is_read_with_its_key_by_path_and_by_host(store, apply, tmp_path, monkeypatch):
    account = {"type": "S3", "buckets": ["private"], **store.key}
    monkeypatch.setenv("http_proxy", store.url)  # Amazon's names lead to moto; loopback does not go through a proxy
    config = {
        "sources": {
            str(tmp_path / "by-path"): store.url + "/private/" + ODD,
            str(tmp_path / "by-host"): "http://private.s3.eu-west-1.amazonaws.com/x.tgz",
        },
        "files": {str(tmp_path / "f"): {"source": store.url + "/private/" + urllib.parse.quote(ODD)}},
    }
    code, said = apply(config, rest={"type": "basic", "username": "u", "password": "p"}, s3=account)
    assert code == 0, said.err
    assert (tmp_path / "by-path/inside").exists()
    assert (tmp_path / "by-host/inside").exists()
    assert (tmp_path / "f").stat().st_size > 0
    assert apply(config, s3=account)[1].out.endswith("nothing changed\n")


@pytest.mark.slow
def test_what_s3_refuses_is_told_in_its_words(store, apply, tmp_path):
    wrong = {"type": "S3", "accessKeyId": store.key["accessKeyId"], "secretKey": "guessed"}
    right = {"type": "S3", **store.key}
    for account, place, words in (
        (wrong, "/private/x.tgz", "answered 403 SignatureDoesNotMatch"),
        (right, "/forbidden/x.tgz", "answered 403 AccessDenied"),
        (right, "/private/nosuch", "answered 404 NoSuchKey"),
    ):
        wanted = {str(tmp_path / "x"): {"source": store.url + place, "authentication": "s3"}}
        code, said = apply({"files": wanted}, s3=account)
        assert code == 1
        assert words in said.err
        assert "guessed" not in said.err
    code, said = apply({"files": {str(tmp_path / "x"): {"source": store.url + "/private/x.tgz"}}})
    assert (code, "answered 403" in said.err) == (1, True), "without an account the bucket is closed"


def test_a_server_of_another_region_is_asked_again_for_that(apply, tmp_path, listener):
    listener.answers = [(400, b"<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>")]
    listener.answers += [(200, b"data")]
    account = {"type": "S3", "buckets": "b", "accessKeyId": "k", "secretKey": "s"}
    assert apply({"files": {str(tmp_path / "x"): {"source": listener.url + "/b/x"}}}, s3=account)[0] == 0
    scopes = [sent["Authorization"].split("/")[2] for sent in listener.headers]
    assert scopes == ["us-east-1", "eu-west-1"]


def test_a_wrong_clock_is_set_right_for_the_signature(apply, tmp_path, listener, monkeypatch):
    listener.answers = [(403, b"<Error><Code>RequestTimeTooSkewed</Code></Error>"), (200, b"data")]
    past = types.SimpleNamespace(time=lambda: time.time() - TEN_YEARS, strftime=time.strftime, gmtime=time.gmtime)
    monkeypatch.setattr(s3, "time", past)
    account = {"type": "S3", "buckets": ["b"], "accessKeyId": "k", "secretKey": "s"}
    assert apply({"files": {str(tmp_path / "x"): {"source": listener.url + "/b/x"}}}, s3=account)[0] == 0
    first, second = (int(sent["x-amz-date"][:4]) for sent in listener.headers)
    assert second - first in (9, 10), listener.headers


def test_a_refusal_that_stays_is_the_answer(apply, tmp_path, listener):
    listener.answers = [(403, b"<Error><Code>RequestTimeTooSkewed</Code></Error>")]
    account = {"type": "S3", "buckets": ["b"], "accessKeyId": "k", "secretKey": "s"}
    code, said = apply({"files": {str(tmp_path / "x"): {"source": listener.url + "/b/x"}}}, s3=account)
    assert code == 1
    assert "answered 403 RequestTimeTooSkewed" in said.err
    assert len(listener.requests) <= 5


def test_an_account_is_for_its_buckets_and_roles_are_refused_in_words(apply, tmp_path, listener):
    listener.answers = [(200, b"data")]
    account = {"type": "S3", "buckets": ["b"], "accessKeyId": "k", "secretKey": "s"}
    found = Authentication({"AWS::CloudFormation::Authentication": {"s3": account}})
    for url, is_covered in (
        ("https://s3.amazonaws.com/b/x", True),
        ("https://b.s3.amazonaws.com/x", True),
        ("https://b.s3.eu-west-1.amazonaws.com/x", True),
        ("https://s3-eu-west-1.amazonaws.com/b/x", True),
        ("https://store.example/b", True),
        ("https://store.example/bb/x", False),
        ("https://store.example/x/b", False),
        ("https://bb.s3.amazonaws.com/b/x", False),
        ("https://b.store.example/x", False),
        ("https://b.s3.amazonaws.com/x?X-Amz-Signature=1", False),
        ("/b/x", False),
    ):
        assert (type(found.account(url)).__name__ == "Bucket") == is_covered, url
    role = {"type": "S3", "buckets": ["b"], "roleName": "reader"}
    for wanted in ({"source": listener.url + "/b/x"}, {"source": listener.url + "/c/x", "authentication": "role"}):
        code, said = apply({"files": {str(tmp_path / "x"): wanted}}, role=role)
        assert code == 1
        assert "role has a roleName: there are no IAM roles here; give accessKeyId and secretKey" in said.err
    assert apply({"files": {str(tmp_path / "x"): {"source": listener.url + "/c/x"}}}, role=role)[0] == 0
    keys = {**role, "accessKeyId": "k", "secretKey": "s"}
    assert apply({"files": {str(tmp_path / "y"): {"source": listener.url + "/b/x"}}}, keys=keys)[0] == 0
    assert "Credential=k/" in listener.headers[-1]["Authorization"], "a pair of keys is taken before a role"
    code, said = apply({}, s3={"type": "S3", "accessKeyId": "k"})
    assert code == 1
    assert "s3 has no secretKey" in said.err
