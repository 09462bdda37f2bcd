"""cfn-signal delivers, or says why not and fails."""

import base64
import json
from urllib.parse import parse_qsl, urlsplit

import pytest

from calor.cfntools import authorities, retrying, signal, unique_id


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(retrying, "WAITS", (0.01,))


def sent(listener):
    return [json.loads(body) for _, _, body in listener.requests]


def test_success_is_put_with_the_keys_of_a_wait_condition(listener):
    assert signal.main(["-i", "x", "-d", "dätä", listener.url + "/v1/waitcondition/a?Signature=s"]) == 0
    assert listener.requests[0][:2] == ("PUT", "/v1/waitcondition/a?Signature=s")
    assert sent(listener) == [
        {"Status": "SUCCESS", "Reason": "Configuration Complete", "UniqueId": "x", "Data": "dätä"}
    ]


@pytest.mark.parametrize(
    ("options", "status"),
    [(["-e", "0"], "SUCCESS"), (["-e", "3", "-s", "true"], "FAILURE"), (["-s", "false"], "FAILURE"), ([], "SUCCESS")],
)
def test_exit_code_beats_success(listener, options, status):
    assert signal.main([*options, "-i", "x", listener.url]) == 0
    assert sent(listener)[0]["Status"] == status


def test_address_may_be_base64(listener):
    assert signal.main(["-i", "x", base64.b64encode(listener.url.encode()).decode()]) == 0
    assert signal.main(["-i", "x", "nonsense"]) == 1


@pytest.mark.parametrize(("answer", "tries"), [(403, 1), (404, 1), (500, 3), (503, 3), ("close", 3)])
def test_f040_what_is_not_taken_fails_with_the_status_on_stderr(listener, capsys, answer, tries):
    listener.answers = [answer]
    assert signal.main(["-i", "x", "--retry-for", "0.3", listener.url]) == 1
    assert len(listener.requests) >= tries if tries > 1 else len(listener.requests) == 1
    shown = capsys.readouterr().err
    assert "not delivered" in shown
    assert str(answer) in shown or answer == "close"


def test_f040_a_server_that_recovers_gets_the_signal_once(listener):
    listener.answers = [503, "close", 500, 200]
    assert signal.main(["-i", "x", listener.url]) == 0
    assert len(listener.requests) == 4


def test_f036_default_ids_of_three_servers_differ(listener, monkeypatch):
    monkeypatch.setattr(unique_id, "CACHES", ())
    ids = []
    for number in range(3):
        listener.answers = [(200, json.dumps({"uuid": f"server-{number}"}).encode())]
        ids.append(unique_id.default(listener.url))
    assert ids == ["server-0", "server-1", "server-2"]


def test_signed_query_is_never_shown(capsys):
    assert signal.main(["-i", "x", "--retry-for", "0", "http://127.0.0.1:9/p?Signature=hush"]) == 1
    assert "hush" not in capsys.readouterr().err


KEYS = ["--access-key", "AK", "--secret-key", "SK"]


def actions(listener):
    return [dict(parse_qsl(urlsplit(path).query)) for _, path, _ in listener.requests]


def test_a_resource_is_signalled_through_the_api(listener):
    listener.answers = [503, (200, b"<SignalResourceResponse/>")]
    assert signal.main(["--stack", "st", "--resource", "res", "-e", "1", "-i", "x", *KEYS, "--url", listener.url]) == 0
    assert len(listener.requests) == 2, "what may pass is tried again"
    sent = actions(listener)[1]
    assert {key: sent[key] for key in ("Action", "StackName", "LogicalResourceId", "UniqueId", "Status")} == {
        "Action": "SignalResource",
        "StackName": "st",
        "LogicalResourceId": "res",
        "UniqueId": "x",
        "Status": "FAILURE",
    }
    assert sent["AWSAccessKeyId"] == "AK"


def test_f040_what_the_api_refuses_is_final_and_told(listener, capsys):
    listener.answers = [(403, b"<E><Error><Code>AccessDenied</Code><Message>not yours</Message></Error></E>")]
    assert signal.main(["--stack", "st", "--resource", "res", "-i", "x", *KEYS, "--url", listener.url]) == 1
    assert capsys.readouterr().err == (
        "cfn-signal: not delivered: the CloudFormation API answered 403: AccessDenied: not yours\n"
    )
    assert len(listener.requests) == 1


def test_address_and_resource_exclude_each_other(listener, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path))
    for wrong in (["--stack", "st", "--resource", "res", listener.url], ["--stack", "st"], []):
        with pytest.raises(SystemExit, match="2"):
            signal.main(wrong)
    assert signal.main(["--stack", "st", "--resource", "res"]) == 1
    assert "no EC2 key pair, and no identity of a Calor agent" in capsys.readouterr().err
    assert listener.requests == []


def test_a_proxy_may_be_given(listener, monkeypatch):
    monkeypatch.setenv("http_proxy", "")
    assert signal.main(["-i", "x", "--http-proxy", listener.url, "http://elsewhere.example/handle"]) == 0
    assert listener.requests[0][1] == "http://elsewhere.example/handle"


def test_the_authority_left_at_boot_is_trusted(tmp_path, monkeypatch):
    given = authorities.trust(str(tmp_path))
    assert given.ca_certificate is None
    (tmp_path / "etc/calor").mkdir(parents=True)
    (tmp_path / "etc/calor/agent.json").write_text('{"ca_certificate": "-----BEGIN of agent"}')
    assert authorities.trust(str(tmp_path)).ca_certificate == "-----BEGIN of agent"
    (tmp_path / "etc/cfn").mkdir(parents=True)
    (tmp_path / "etc/cfn/ca-override.pem").touch()
    assert authorities.trust(str(tmp_path)).ca_certificate == str(tmp_path / "etc/cfn/ca-override.pem")
    monkeypatch.setenv("CA_OVERRIDE", "/x.pem")
    assert authorities.trust(str(tmp_path)).ca_certificate == "/x.pem"
    assert authorities.trust(str(tmp_path), "/given.pem").ca_certificate == "/given.pem"
    boto = tmp_path / "var/lib/heat-cfntools/cfn-boto-cfg"
    boto.parent.mkdir(parents=True)
    boto.write_text("[Boto]\ndebug = 0\nhttps_validate_certificates = 0\n")
    assert authorities.trust(str(tmp_path)).insecure
