"""cfn-signal delivers, or says why not and fails."""

import base64
import json

import pytest

from calor.cfntools import signal, unique_id


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(signal, "WAITS", (0.01,))


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
