"""Guests made for OpenStack's agents: deployments by Heat's API or the CloudFormation API, results by signals."""

import json
from html import escape
from urllib.parse import parse_qsl, urlsplit

import pytest

from calor.agent import keystone, polled, signals
from calor.cfntools import tls


def signalled(server, path):
    return [json.loads(body) for _, full, _, body in server.requests if full.split("?")[0] == path]


@pytest.fixture
def boot_metadata(guest):
    """Leaves metadata as cloud-init does, and takes away the native protocol."""

    def write(document):
        guest.configure()
        path = guest.root / "var/lib/heat-cfntools/cfn-init-data"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))

    return write


def cfn_route(server, deployments):
    def describe(full, headers, body):
        query = dict(parse_qsl(urlsplit(full).query))
        assert query["Action"] == "DescribeStackResource"
        assert (query["StackName"], query["LogicalResourceId"]) == ("stack", "web")
        assert query["Signature"]
        text = escape(json.dumps({"deployments": deployments}))
        return 200, {}, f"<R><StackResourceDetail><Metadata>{text}</Metadata></StackResourceDetail></R>".encode()

    return describe


def plain(document, **inputs):
    """As Heat gives it: without our part, with the derived inputs of a transport."""
    document = {key: value for key, value in document.items() if key != "calor"}
    listed = [{"name": key, "value": value} for key, value in inputs.items()]
    return {**document, "inputs": document["inputs"] + listed}


def test_cfn_collector_applies_and_signals_by_post_and_put(server, guest, boot_metadata, deployment, eventually):
    server.routes["/sig/a"] = server.routes["/sig/b"] = lambda *_: (200, {}, b"")
    one = plain(
        deployment("a", "#!/bin/sh\necho $deploy_action"),
        deploy_action="CREATE",
        deploy_signal_transport="CFN_SIGNAL",
        deploy_signal_id=server.url + "/sig/a?Signature=x",
        deploy_signal_verb="POST",
    )
    two = plain(
        deployment("b", "exit 2"),
        deploy_signal_transport="TEMP_URL_SIGNAL",
        deploy_signal_id=server.url + "/sig/b?temp_url_sig=x",
        deploy_signal_verb="PUT",
    )
    three = plain(deployment("c", "true"), deploy_signal_transport="NO_SIGNAL")
    server.routes["/v1/"] = cfn_route(server, [one, two, three])
    cfn = {"metadata_url": server.url + "/v1/", "access_key_id": "AK", "secret_access_key": "SK"}
    boot_metadata({"os-collect-config": {"cfn": {**cfn, "stack_name": "stack", "path": "web.Metadata"}}})
    guest.start()
    eventually(lambda: signalled(server, "/sig/b"))
    eventually(lambda: list(guest.state.glob("runs/config-c/reported")))
    assert signalled(server, "/sig/a") == [{"deploy_stdout": "CREATE\n", "deploy_stderr": "", "deploy_status_code": 0}]
    assert signalled(server, "/sig/b")[0]["deploy_status_code"] == 2
    verbs = [one[0] for one in server.requests if one[1].startswith("/sig/")]
    assert verbs == ["POST", "PUT"]
    assert guest.run("status").stdout.count(" reported") == 3


def test_f038_f040_a_signal_is_tried_again_on_503_and_given_up_on_403(
    server, guest, boot_metadata, deployment, eventually
):
    answers = iter([503, 503, 200, 403])
    server.routes["/sig/x"] = lambda *_: (next(answers), {}, b"")
    inputs = {"deploy_signal_id": server.url + "/sig/x", "deploy_signal_verb": "POST"}
    found = [plain(deployment(name, "true"), **inputs) for name in ("a", "b")]
    server.routes["/v1/"] = cfn_route(server, found)
    cfn = {"metadata_url": server.url + "/v1/", "access_key_id": "AK", "secret_access_key": "SK"}
    boot_metadata({"os-collect-config": {"cfn": {**cfn, "stack_name": "stack", "path": "web.Metadata"}}})
    guest.start()
    eventually(lambda: len(list(guest.state.glob("runs/*/reported"))) == 2)
    assert len(signalled(server, "/sig/x")) == 4
    assert "given up" in guest.console()


@pytest.fixture
def keystone_routes(server):
    def log_in(full, headers, body):
        auth = json.loads(body)["auth"]
        user = auth["identity"]["password"]["user"]
        if user != {"id": "u", "password": "pw"}:
            return 401, {}, b"{}"
        ends = [
            {"interface": "public", "region": region, "url": f"{server.url}/{region}/v1/p"} for region in ("R1", "R2")
        ]
        catalog = [{"type": "orchestration", "endpoints": ends}]
        return 201, {"X-Subject-Token": "tok"}, json.dumps({"token": {"catalog": catalog}}).encode()

    server.routes["/v3/auth/tokens"] = log_in


def test_heat_collector_logs_in_by_password_and_signals_through_the_api(
    server, guest, keystone_routes, deployment, eventually
):
    account = {"auth_url": server.url + "/v3", "user_id": "u", "password": "pw", "project_id": "p"}
    inputs = {f"deploy_{key}": value for key, value in account.items()}
    one = plain(
        deployment("h", "echo heat"),
        deploy_signal_transport="HEAT_SIGNAL",
        deploy_stack_id="st/1",
        deploy_resource_name="dep",
        deploy_region_name="R2",
        **inputs,
    )

    def metadata(full, headers, body):
        assert headers["x-auth-token"] == "tok"
        return 200, {}, json.dumps({"metadata": {"deployments": [one]}}).encode()

    server.routes["/R1/v1/p/stacks/st/1/resources/web/metadata"] = metadata
    server.routes["/R2/v1/p/stacks/st/1/resources/dep/signal"] = lambda *_: (200, {}, b"")
    guest.configure()
    conf = guest.root / "etc/os-collect-config.conf"
    lines = "".join(f"{key} = {value}\n" for key, value in account.items())
    conf.write_text(
        f"[DEFAULT]\ncommand = x\n[heat]\n{lines}stack_id = st/1\nresource_name = web\nregion_name = null\n"
    )
    guest.start()
    path = "/R2/v1/p/stacks/st/1/resources/dep/signal"
    eventually(lambda: signalled(server, path))
    assert signalled(server, path)[0]["deploy_stdout"] == "heat\n"


def test_a_signal_goes_by_what_the_inputs_have_whatever_the_transport_is_called(server, keystone_routes):
    account = {"auth_url": server.url, "user_id": "u", "password": "pw", "stack_id": "st/1", "resource_name": "dep"}
    inputs = {f"deploy_{key}": value for key, value in account.items()}
    path = "/R1/v1/p/stacks/st/1/resources/dep/signal"
    server.routes[path] = lambda *_: (200, {}, b"")
    assert signals.send(inputs, {"deploy_status_code": 0}, tls.DEFAULT) is None
    assert signalled(server, path) == [{"deploy_status_code": 0}]
    assert "no signal" in (signals.send({"deploy_signal_transport": "NO_SIGNAL"}, {}, tls.DEFAULT) or "")
    assert "nothing to signal with" in (signals.send({"deploy_signal_transport": "CFN_SIGNAL"}, {}, tls.DEFAULT) or "")


def test_f049_region_null_is_no_region_and_a_named_one_is_taken(server, keystone_routes):
    values = {"auth_url": server.url, "user_id": "u", "password": "pw", "region_name": "null"}
    who = keystone.account(values)
    assert who is not None
    assert who.region is None
    assert "/R1/" in keystone.log_in(who, tls.DEFAULT).endpoint
    assert "/R2/" in keystone.log_in(who._replace(region="R2"), tls.DEFAULT).endpoint


def test_local_metadata_is_applied_where_nothing_else_is_configured(guest, boot_metadata, deployment, eventually):
    boot_metadata({"deployments": [plain(deployment("l", "echo local"))]})
    guest.start()
    eventually(lambda: list(guest.state.glob("runs/config-l/reported")))
    assert guest.run("logs", "config-l").stdout == "local\n"


def test_an_unchanged_document_is_given_once(server):
    server.routes["/doc"] = lambda *_: (200, {}, b'{"deployments": [{"id": "x"}, {"no": "id"}, null]}')
    source = polled.Request(server.url + "/doc", tls.DEFAULT)
    first = source.collect()
    assert first is not None
    assert [one.id for one in first.deployments] == ["x"]
    assert source.collect() is None
