"""The sources of an instance made for os-collect-config, beside those of test_polled_sources: queues, files, a change
of transport, and the sources that stand in for a server that is never reached."""

import json

import pytest

from calor.agent import places, polled
from calor.agent.collected import Collected, configuration
from calor.agent.collectors import Ec2
from calor.cfntools import tls


def plain(document, **inputs):
    """As Heat gives it: without our part, with the derived inputs of a transport."""
    document = {key: value for key, value in document.items() if key != "calor"}
    return {**document, "inputs": document["inputs"] + [{"name": key, "value": value} for key, value in inputs.items()]}


def here(root):
    return places.find({}, str(root))


def left(root, path, document):
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document))
    return file


@pytest.fixture
def queues(server):
    """A messaging service with the messages of each queue, behind a Keystone."""
    messages = {}

    def log_in(full, headers, body):
        catalog = [{"type": "messaging", "endpoints": [{"interface": "public", "region": "R", "url": server.url}]}]
        return 201, {"X-Subject-Token": "tok"}, json.dumps({"token": {"catalog": catalog}}).encode()

    server.routes["/v3/auth/tokens"] = log_in

    def put(name, body):
        ident = f"m{len(messages[name]) + 1}"
        messages[name].append({"id": ident, "body": body})

        def remove(*_):
            messages[name][:] = [one for one in messages[name] if one["id"] != ident]
            return 204, {}, b""

        server.routes[f"/v2/queues/{name}/messages/{ident}"] = remove

    def serve(name):
        messages[name] = []

        def answer(full, headers, body):
            assert headers["x-auth-token"] == "tok"
            assert headers["client-id"]
            if body:
                for message in json.loads(body)["messages"]:
                    put(name, message["body"])
                return 201, {}, b"{}"
            return 200, {}, json.dumps({"messages": messages[name], "links": []}).encode()

        server.routes[f"/v2/queues/{name}/messages"] = answer
        return lambda: messages[name]

    serve.post = put
    return serve


def account(server):
    return {"auth_url": server.url + "/v3", "user_id": "u", "password": "pw", "project_id": "p"}


def test_a_message_is_applied_and_answered_by_a_message(server, guest, queues, deployment, eventually):
    told, answers = queues("told"), queues("answers")
    guest.configure()
    inputs = {f"deploy_{key}": value for key, value in account(server).items()}
    one = plain(
        deployment("z", "echo by a queue"), deploy_signal_transport="ZAQAR_SIGNAL", deploy_queue_id="answers", **inputs
    )
    queues.post("told", {"deployments": []})
    queues.post("told", {"deployments": [one]})
    zaqar = {**account(server), "queue_id": "told"}
    left(guest.root, "/var/lib/heat-cfntools/cfn-init-data", {"os-collect-config": {"zaqar": zaqar}})
    guest.start()
    eventually(answers)
    assert answers()[0]["body"]["deploy_stdout"] == "by a queue\n"
    eventually(lambda: not told(), 5)
    assert json.loads((guest.state / "zaqar.json").read_text())["deployments"][0]["name"] == "z", "kept on disk"


def test_files_of_the_local_directory_are_applied_by_name_and_strangers_files_are_not(guest, deployment, eventually):
    guest.configure()
    data = "/var/lib/os-collect-config/local-data/"
    left(guest.root, data + "10.json", {"deployments": [plain(deployment("one", "echo 1"))]})
    left(guest.root, data + "20.json", {"deployments": [plain(deployment("two", "echo 2"))]})
    left(guest.root, data + "30.json", {"deployments": [plain(deployment("bad", "echo bad"))]}).chmod(0o666)
    (guest.root / "etc/os-collect-config.conf").write_text("[DEFAULT]\ncommand = x\n")
    guest.start()
    eventually(lambda: len(list(guest.state.glob("runs/*/reported"))) == 2)
    assert not (guest.state / "runs/config-bad").exists()
    files = json.loads((guest.root / "var/lib/os-collect-config/os_config_files.json").read_text())
    assert files == [str(guest.root / "var/lib/os-collect-config/local.json")]


TREE = {
    "/meta/": "ami-id\npublic-keys/\nuser-data\n",
    "/meta/ami-id": "ami-1",
    "/meta/user-data": "",
    "/meta/public-keys/": "0=mine",
    "/meta/public-keys/0/": "openssh-key",
    "/meta/public-keys/0/openssh-key": "ssh-rsa AAAA",
}


def test_ec2_metadata_has_the_shape_that_os_collect_config_gives_it_and_is_asked_for_once(server, guest):
    for path, text in TREE.items():
        server.routes[path] = lambda *_, text=text: (200, {}, text.encode())
    source = Ec2(here(guest.root), server.url + "/meta")
    keys = {"0": {"openssh-key": "ssh-rsa AAAA"}}
    assert source.metadata() == {"ami-id": "ami-1", "public-keys": keys, "user-data": ""}
    source.metadata()
    assert len(server.requests) == len(TREE)


def test_ec2_metadata_comes_from_the_config_drive_where_there_is_one(guest, monkeypatch):
    drive = guest.root / "dev/disk/by-label/config-2"
    left(guest.root, "/dev/disk/by-label/config-2/ec2/latest/meta-data.json", {"ami-id": "ami-2"})
    for name, text in (("mount", 'cp -r "$3"/. "$4"'), ("umount", f'rm -r "$1"/ec2; echo "$1" >{guest.root}/umounted')):
        program = guest.root / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{guest.root}/bin:/usr/bin:/bin")
    assert Ec2(here(guest.root), "http://127.0.0.1:1").metadata() == {"ami-id": "ami-2"}
    assert (guest.root / "umounted").exists()
    assert drive.exists()


def test_a_metadata_service_that_does_not_answer_costs_nothing_and_hides_nothing(server, guest):
    (guest.root / "etc/os-collect-config.conf").write_text(
        f"[DEFAULT]\ncollectors = ec2\ncollectors = request\n[ec2]\nmetadata_url = {server.url}/nothing\n"
        f"[request]\nmetadata_url = {server.url}/doc\n"
    )
    document = {"deployments": []}
    server.routes["/nothing/"] = lambda *_: (404, {}, b"")
    server.routes["/doc"] = lambda *_: (200, {}, json.dumps(document).encode())
    source = Collected(here(guest.root), tls.DEFAULT)
    assert source.collect().deployments == [], "that there is nothing (more) is news"
    document["deployments"] = [{"id": "a"}]
    assert [one.id for one in source.collect().deployments] == ["a"]
    assert [path for _, path, _, _ in server.requests].count("/nothing/") == 1


def test_a_configuration_file_of_openstacks_agents_is_read_as_they_do(server, guest):
    (guest.root / "etc/os-collect-config.conf").write_text(
        "[DEFAULT]\ncommand = os-refresh-config --timeout 14400\npolling_interval = 7\n"
        "collectors = heat_local\n# no more\ncollectors = cfn\ncollectors = request\ncollectors = local\n\n"
        f"[cfn]\nmetadata_url = {server.url}/v1/\nstack_name = 's'\naccess_key_id = a\nsecret_access_key = k=:%\n"
        f"path = web.Metadata\npath = other.Metadata.x\n[request]\nmetadata_url = {server.url}/old\n"
        f"metadata_url: {server.url}/doc\nodd line\n"
    )
    found = configuration(here(guest.root))
    assert found["cfn"]["path"] == "web.Metadata\nother.Metadata.x"
    assert (found["cfn"]["secret_access_key"], found["cfn"]["stack_name"]) == ("k=:%", "s")
    server.routes["/doc"] = lambda *_: (
        200,
        {},
        b'{"os-collect-config": {"polling_interval": 9, "cfn": {"path": null}}}',
    )
    source = Collected(here(guest.root), tls.DEFAULT)
    assert (source.source_names, source.longest_pause) == (["cfn", "request"], 7.0)
    source._sources = [one for one in source._sources if one.name == "request"]
    source.collect()
    assert (source.source_names, source.longest_pause) == (["request"], 9.0)


def test_the_servers_address_comes_from_where_the_boot_left_it_and_deployments_from_the_keys_that_are_named(guest):
    (guest.root / "etc/os-collect-config.conf").write_text(
        "[DEFAULT]\ndeployment_key = deployments\ndeployment_key = more\n"
        "[cfn]\nstack_name = s\naccess_key_id = a\nsecret_access_key = k\npath = web.Metadata\n"
    )
    left(
        guest.root, "/var/lib/heat-cfntools/cfn-init-data", {"deployments": [{"id": "a"}], "more": [{"id": "b"}, None]}
    )
    (guest.root / "var/lib/heat-cfntools/cfn-metadata-server").write_text("http://127.0.0.1:1/v1/\n")
    source = Collected(here(guest.root), tls.DEFAULT)
    assert source.source_names == ["heat_local", "cfn"]
    assert [one.id for one in source.collect().deployments] == ["a", "b"]


def test_configs_that_are_data_lie_beside_their_source_under_their_own_names(guest, deployment):
    data = [("x/y", "os-apply-config", {"a": 1}), ("cfn", "Heat::Ungrouped", '{"b": 2}'), ("run", "script", "true")]
    documents = [plain(deployment(name, config, group=group)) for name, group, config in data]
    left(guest.root, "/var/lib/heat-cfntools/cfn-init-data", {"deployments": documents})
    Collected(here(guest.root), tls.DEFAULT).collect()
    folder = guest.root / "var/lib/os-collect-config"
    files = json.loads((folder / "os_config_files.json").read_text())
    assert files == [str(folder / name) for name in ("heat_local.json", "x_y.json", "cfn_.json")]
    assert [json.loads((folder / name).read_text()) for name in ("x_y.json", "cfn_.json")] == [{"a": 1}, {"b": 2}]


def test_the_metadata_moves_an_instance_to_another_transport_and_a_restart_keeps_it(server, guest):
    document = {"deployments": [{"id": "first", "name": "a"}]}
    server.routes["/old"] = lambda *_: (200, {}, json.dumps(document).encode())
    server.routes["/new"] = lambda *_: (200, {}, b'{"deployments": [{"id": "second", "name": "b"}]}')
    boot = {"os-collect-config": {"request": {"metadata_url": server.url + "/old"}, "collectors": ["request", "local"]}}
    left(guest.root, "/var/lib/heat-cfntools/cfn-init-data", boot)
    source = Collected(here(guest.root), tls.DEFAULT)
    assert source.source_names == ["heat_local", "request"]
    assert [one.id for one in source.collect().deployments] == ["first"]
    assert source.collect() is None
    document["os-collect-config"] = {"request": {"metadata_url": server.url + "/new"}}
    source.collect()
    assert [one.id for one in source.collect().deployments] == ["second"]
    again = Collected(here(guest.root), tls.DEFAULT)
    assert [one.id for one in again.collect().deployments] == ["second"]


def test_keys_that_become_null_switch_a_source_off(server, guest):
    url = {"metadata_url": server.url + "/doc"}
    left(guest.root, "/var/lib/heat-cfntools/cfn-init-data", {"os-collect-config": {"request": url}})
    server.routes["/doc"] = lambda *_: (
        200,
        {},
        json.dumps({"os-collect-config": {"request": {"metadata_url": None}, "collectors": ["cfn"]}}).encode(),
    )
    source = Collected(here(guest.root), tls.DEFAULT)
    source.collect()
    assert source.source_names == ["heat_local"]


def test_an_object_that_has_not_changed_is_not_sent_again(server):
    asked = []

    def answer(full, headers, body):
        asked.append(headers.get("if-none-match"))
        if headers.get("if-none-match") == '"e1"':
            return 304, {}, b""
        return 200, {"ETag": "e1"}, b'{"deployments": [{"id": "x"}]}'

    server.routes["/doc"] = answer
    source = polled.Request(server.url + "/doc", tls.DEFAULT)
    assert source.collect() is not None
    assert source.collect() is None
    assert asked == [None, '"e1"']


def test_one_source_that_is_down_does_not_keep_the_others_back(server, guest, deployment, eventually):
    guest.configure()
    server.routes["/doc"] = lambda *_: (
        200,
        {},
        json.dumps({"deployments": [plain(deployment("up", "true"))]}).encode(),
    )
    server.routes["/v1/"] = lambda *_: (500, {}, b"broken")
    cfn = {"metadata_url": server.url + "/v1/", "access_key_id": "A", "secret_access_key": "S"}
    found = {"cfn": {**cfn, "stack_name": "s", "path": "r.Metadata"}, "request": {"metadata_url": server.url + "/doc"}}
    left(guest.root, "/var/lib/heat-cfntools/cfn-init-data", {"os-collect-config": found})
    guest.start()
    eventually(lambda: list(guest.state.glob("runs/config-up/reported")))


def test_a_server_that_is_never_reached_is_stood_in_for_by_the_metadatas_transport(
    server, guest, deployment, eventually
):
    server.routes["/sig"] = lambda *_: (200, {}, b"")
    one = plain(
        deployment("s", "echo stood in"),
        deploy_signal_transport="TEMP_URL_SIGNAL",
        deploy_signal_id=server.url + "/sig",
        deploy_signal_verb="PUT",
    )
    server.routes["/doc"] = lambda *_: (200, {}, json.dumps({"deployments": [one]}).encode())
    request = {"request": {"metadata_url": server.url + "/doc"}}
    left(guest.root, "/var/lib/heat-cfntools/cfn-init-data", {"os-collect-config": request})
    guest.configure(server="http://127.0.0.1:9", instance_id="i-1", bootstrap_token="boot", standby_after=0.5)
    guest.start()
    eventually(lambda: [one for one in server.requests if one[1] == "/sig"])
    guest.kill()
    guest.configure(server=server.url, instance_id="i-1", bootstrap_token="boot", standby_after=0.5)
    server.deploy(deployment("n", "echo twice"))
    guest.start()
    eventually(lambda: server.heartbeats, 10)
    assert not (guest.state / "runs/run-n").exists(), "what has stood in once goes on, so that nothing runs twice"


def test_what_has_stood_in_is_not_ended_by_a_server_that_is_reached_later(server, guest, deployment, eventually):
    server.routes["/sig"] = lambda *_: (200, {}, b"")
    begun, go = guest.root / "begun", guest.root / "go"
    one = plain(
        deployment("s", f"#!/bin/sh\ntouch {begun}\nwhile [ ! -e {go} ]; do sleep 0.1; done\necho to its end\n"),
        deploy_signal_transport="TEMP_URL_SIGNAL",
        deploy_signal_id=server.url + "/sig",
        deploy_signal_verb="PUT",
    )
    server.routes["/doc"] = lambda *_: (200, {}, json.dumps({"deployments": [one]}).encode())
    left(
        guest.root,
        "/var/lib/heat-cfntools/cfn-init-data",
        {"os-collect-config": {"request": {"metadata_url": server.url + "/doc"}}},
    )
    server.faults["enrol"] = 503
    server.cancelled = ["config-s"]  # as a server says that does not know where the run came from
    guest.configure(server=server.url, instance_id="i-1", bootstrap_token="boot", standby_after=0.5, heartbeat=1)
    guest.start()
    eventually(begun.exists)
    server.faults.clear()
    eventually(lambda: len(server.heartbeats) > 1, 20)
    go.touch()
    eventually(lambda: [body for _, path, _, body in server.requests if path == "/sig" and b"to its end" in body])


def test_a_server_that_was_reached_is_not_stood_in_for(server, guest, deployment, eventually):
    server.routes["/doc"] = lambda *_: (200, {}, json.dumps({"deployments": [plain(deployment("x", "true"))]}).encode())
    request = {"request": {"metadata_url": server.url + "/doc"}}
    left(guest.root, "/var/lib/heat-cfntools/cfn-init-data", {"os-collect-config": request})
    guest.configure(server=server.url, instance_id="i-1", bootstrap_token="boot", standby_after=0.2)
    server.deploy(deployment("n", "true"))
    guest.start()
    server.result("run-n")
    eventually(lambda: len(server.heartbeats) > 2)
    assert not (guest.state / "standby").exists()
    assert not (guest.state / "runs/config-x").exists()
