"""Which key pair and which address of the CloudFormation API the tools of an instance go by."""

import json

import pytest

from calor.cfntools import credentials, get_metadata, signal


@pytest.fixture
def guest(tmp_path, monkeypatch):
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path))

    def write(path, text):
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return str(target)

    return write


def found(tmp_path, **given):
    return credentials.find_endpoint(credentials.Given(root=str(tmp_path), **given))


def test_a_pair_is_whole_and_comes_from_one_place(guest, tmp_path):
    boot = {"access_key_id": "BA", "secret_access_key": "BS", "metadata_url": "http://boot:8000/v1/"}
    assert found(tmp_path) is None
    guest("var/lib/heat-cfntools/cfn-init-data", json.dumps({"os-collect-config": {"cfn": boot}}))
    assert found(tmp_path)[:3] == ("http://boot:8000/v1/", "BA", "BS")
    guest("etc/cfn/cfn-credentials", "AWSAccessKeyId=FA\n")
    assert found(tmp_path)[1:3] == ("BA", "BS"), "half a pair is none"
    guest("etc/cfn/cfn-credentials", "AWSAccessKeyId = FA \nAWSSecretKey=FS=\n")
    assert found(tmp_path)[1:3] == ("FA", "FS=")
    assert found(tmp_path, access_key="OA", secret_key="OS", url="http://o")[:3] == ("http://o/v1/", "OA", "OS")


def test_a_file_that_is_named_must_have_a_pair(guest, tmp_path, capsys):
    half = guest("keys", "AWSAccessKeyId=A\n")
    words = ["-s", "st", "-r", "res", "-u", "http://127.0.0.1:9"]
    for more, message in (
        (["-f", half], f"the credentials file {half} has no AWSSecretKey"),
        (["-f", str(tmp_path / "none")], "none cannot be read"),
        (["--access-key", "A"], "--access-key and --secret-key go together"),
    ):
        assert get_metadata.main([*words, *more]) == 1
        assert message in capsys.readouterr().err
    assert found(tmp_path, credential_file=half, access_key="A", secret_key="S", url="http://o")[1:3] == ("A", "S")


@pytest.mark.parametrize(("secure", "wanted"), [("0", "http://10.0.0.1:8000/v1/"), ("1", "https://10.0.0.1:8000/v1/")])
def test_the_address_may_stand_in_heats_boto_configuration_alone(guest, tmp_path, secure, wanted):
    boto = f"[Boto]\ncfn_region_name = heat\ncfn_region_endpoint = 10.0.0.1\nis_secure = {secure}\n"
    guest("var/lib/heat-cfntools/cfn-boto-cfg", boto)
    guest("etc/cfn/cfn-credentials", "AWSAccessKeyId=A\nAWSSecretKey=S\n")
    assert found(tmp_path).url == wanted
    guest("var/lib/heat-cfntools/cfn-metadata-server", "http://recorded:8001/v1/")
    assert found(tmp_path).url == "http://recorded:8001/v1/"


def test_cfn_signal_trusts_for_a_resource_what_it_is_told_to(guest, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("calor.cfntools.access.find", lambda given, _: seen.append(given) or (lambda _: b""))
    assert signal.main(["--stack", "s", "--resource", "r", "-i", "x", "-k", "--ca-certificate", "/ca.pem"]) == 0
    assert (seen[0].ca_certificate, seen[0].insecure) == ("/ca.pem", True)
    keys = {"access_key": "A", "secret_key": "S", "url": "https://o"}
    assert found(tmp_path, **keys, ca_certificate="/ca.pem").trust.ca_certificate == "/ca.pem"
    assert found(tmp_path, **keys, insecure=True).trust.insecure
