"""The hooks that run containers: against a container tool of a few lines that keeps its containers in files, and
against the real podman where this machine can run it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import pytest

TOOL = r'''
"""docker, as far as the hooks call it; containers are JSON files in $STORE."""
import json, os, sys, uuid
STORE = os.environ["STORE"]
def all_():
    found = [json.load(open(os.path.join(STORE, n))) for n in os.listdir(STORE)]
    return sorted(found, key=lambda one: one["at"], reverse=True)
def save(one):
    json.dump(one, open(os.path.join(STORE, one["Id"]), "w"))
def named(name):
    return next((one for one in all_() if name in (one["Id"], one["Name"])), None)
words = sys.argv[1:]
verb = words[0]
if verb == "ps" and "-q" in words:
    labels = [words[n + 1].split("=", 1)[1] for n, word in enumerate(words) if word == "--filter"]
    for one in all_():
        have = ["%s=%s" % item for item in one["Config"]["Labels"].items()]
        if all(label in have for label in labels):
            print(one["Id"])
elif verb == "ps":
    [print(one["Name"]) for one in all_()]
elif verb == "images":
    print("docker.io/library/busybox:latest")
elif verb == "container":
    one = named(words[2])
    if one is None: sys.exit(1)
    print(json.dumps([one]))
elif verb == "rename":
    one = named(words[1]); one["Name"] = words[2]; save(one)
elif verb == "rm":
    os.unlink(os.path.join(STORE, named(words[2])["Id"]))
elif verb == "exec":
    print("exec", words[1:])
    sys.exit(7 if "fail" in words else 0)
elif verb == "run":
    if "nosuchimage" in words:
        sys.stderr.write("no such image\n"); sys.exit(125)
    labels = dict(words[n + 1].split("=", 1) for n, word in enumerate(words) if word == "--label")
    save({"Id": uuid.uuid4().hex, "Name": words[words.index("--name") + 1], "at": len(all_()),
          "Config": {"Labels": labels},
          "words": [w for n, w in enumerate(words) if w != "--label" and words[n - 1] != "--label"]})
    print("started")
'''


@pytest.fixture
def docker(guest):
    folder, store = guest.root / "bin", guest.root / "store"
    folder.mkdir()
    store.mkdir()
    tool = folder / "docker"
    tool.write_text(f"#!{sys.executable}\n{TOOL}")
    tool.chmod(0o755)
    guest.environment.update(PATH=f"{folder}:/usr/bin:/bin", STORE=str(store))
    guest.containers = lambda: sorted(
        (json.loads(path.read_text()) for path in store.iterdir()), key=lambda one: one["at"]
    )
    return guest


WHO = {"deploy_stack_id": "s/1", "deploy_resource_name": "web", "deploy_action": "CREATE"}
DB = {
    "image": "busybox",
    "command": "sh -c true",
    "env_file": "/a",
    "environment": ["A=1", ""],
    "net": "host",
    "pid": "host",
    "privileged": True,
    "restart": "always",
    "user": "root",
    "volumes": ["/x:/y"],
    "volumes_from": ["data"],
    "start_order": 2,
}


def test_docker_cmd_runs_containers_in_order_with_heats_labels_and_flags(server, docker, deployment):
    config = {
        "db": DB,
        "data": {"image": "busybox", "start_order": 1, "detach": False},
        "look": {"action": "exec", "command": ["db", "ls", "a b"], "user": "me", "start_order": 3},
        "odd": {"action": "exec", "command": "db fail", "exit_codes": [7], "start_order": 4},
    }
    server.deploy(deployment("d", config, group="docker-cmd", inputs=WHO))
    docker.start()
    done = server.result("run-d")
    assert done["outputs"]["deploy_status_code"] == 0, done
    data, db = docker.containers()
    assert (data["Name"], db["Name"]) == ("data", "db")
    assert "--detach=true" not in data["words"]
    assert db["Config"]["Labels"] == {
        "managed_by": "docker-cmd",
        "config_id": "config-d",
        "container_name": "db",
        "deploy_stack_id": "s/1",
        "deploy_resource_name": "web",
    }
    assert db["words"] == [
        *("run", "--name", "db", "--detach=true", "--env-file=/a", "--env=A=1", "--net=host", "--pid=host"),
        *("--restart=always", "--user=root", "--privileged=true", "--volume=/x:/y", "--volumes-from=data"),
        *("busybox", "sh", "-c", "true"),
    ]
    assert "exec ['--user=me', 'db', 'ls', 'a b']" in done["outputs"]["deploy_stdout"]


def test_docker_cmd_goes_on_after_a_failure_and_reports_the_last_code(server, docker, deployment):
    text = "a: {image: nosuchimage, start_order: 1}\nb:\n  image: busybox\n  start_order: 2\n"
    server.deploy(deployment("y", text, group="docker-cmd", inputs=WHO), deployment("no", "a: [", group="docker-cmd"))
    docker.start()
    done = server.result("run-y")
    assert done["outputs"]["deploy_status_code"] == 125
    assert "container a: exit code 125" in done["reason"]
    assert [one["Name"] for one in docker.containers()] == ["b"]
    assert "the config is no YAML" in server.result("run-no")["reason"]


def test_docker_cmd_replaces_what_an_earlier_config_ran_and_removes_what_is_no_longer_named(
    server, docker, deployment, eventually
):
    one = {"a": {"image": "busybox"}, "b": {"image": "busybox"}}
    first = deployment("first", one, group="docker-cmd", inputs=WHO, calor={"deployment_id": "d"})
    server.deploy(first)
    docker.start()
    server.result("run-first")
    changed = {"a": {"image": "busybox", "command": "new"}}
    second = {**deployment("first", changed, group="docker-cmd", inputs=WHO), "id": "config-2"}
    second["calor"] = {**first["calor"], "run_id": "run-second"}
    server.replace(second)
    server.result("run-second")
    assert [(found["Name"], found["Config"]["Labels"]["config_id"]) for found in docker.containers()] == [
        ("a", "config-2")
    ]
    eventually(lambda: not (docker.state / "runs/run-first/leaves").exists())
    assert len(docker.containers()) == 1, "what took over stays"
    server.replace()
    eventually(lambda: not docker.containers())


@pytest.mark.parametrize(("config", "group"), [("", "docker-cmd"), ("true", "script")])
def test_what_an_earlier_config_ran_goes_where_the_newer_one_runs_no_containers(
    server, docker, deployment, config, group
):
    first = deployment("a", {"a": {"image": "busybox"}}, group="docker-cmd", inputs=WHO, calor={"deployment_id": "d"})
    server.deploy(first)
    docker.start()
    server.result("run-a")
    server.replace(
        {
            **first,
            "id": "config-2",
            "config": config,
            "group": group,
            "calor": {"run_id": "run-2", "deployment_id": "d"},
        }
    )
    assert server.result("run-2")["outputs"]["deploy_status_code"] == 0
    assert not docker.containers()


def test_a_container_gets_the_name_it_should_have_once_that_is_free(server, docker, deployment, eventually):
    others = {**WHO, "deploy_resource_name": "other"}
    mine = deployment("one", {"db": {"image": "busybox", "exit_codes": "0"}}, group="docker-cmd", inputs=WHO)
    server.deploy(mine, deployment("two", {"db": {"image": "busybox"}}, group="docker-cmd", inputs=others))
    docker.start()
    assert server.result("run-one")["reason"] == ""
    server.result("run-two")
    assert [found["Name"][:3] for found in docker.containers()] == ["db", "db-"]
    server.replace(server.deployments[1])
    eventually(lambda: [found["Name"] for found in docker.containers()] == ["db"])


def test_docker_cmd_with_action_delete_removes_its_containers(server, docker, deployment):
    server.deploy(deployment("d", {"a": {"image": "busybox"}}, group="docker-cmd", inputs=WHO))
    docker.start()
    server.result("run-d")
    server.deploy(deployment("gone", None, group="docker-cmd", inputs={**WHO, "deploy_action": "DELETE"}))
    assert server.result("run-gone")["outputs"]["deploy_status_code"] == 0
    assert not docker.containers()


def test_kubelet_writes_the_manifest_and_waits(server, docker, deployment, eventually):
    kubelet = docker.root / "bin/kubelet"
    kubelet.write_text("#!/bin/sh\n")
    kubelet.chmod(0o755)
    pod = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "busybox"}]}}
    quick = {"containers_timeout": 1, "images_timeout": "1", "poll_period": 0.1}
    absent = {"containers": [{"name": "c", "image": "nginx:1"}]}
    server.deploy(
        deployment("late", pod, group="kubelet", options=quick),
        deployment("noimage", absent, group="kubelet", options=quick),
        deployment("odd", {"containers": [{"name": "c"}]}, group="kubelet"),
        deployment("number", pod, group="kubelet", options={"poll_period": "soon"}),
    )
    docker.start()
    late = server.result("run-late")
    assert late["outputs"]["deploy_status_code"] == 1
    assert "timed out after 1 seconds waiting for containers: c" in late["reason"]
    manifest = docker.root / "var/lib/heat-config/heat-config-kubelet/kubelet-manifests/config-late.json"
    assert json.loads(manifest.read_text()) == pod
    assert "waiting for images: nginx:1" in server.result("run-noimage")["reason"]
    assert "each container needs name and image" in server.result("run-odd")["reason"]
    assert "option poll_period of group kubelet is no number: 'soon'" in server.result("run-number")["reason"]
    store = {"Id": "1", "Name": "k8s_c_web-node_default_x", "at": 0, "Config": {"Labels": {}}}
    (docker.root / "store/1").write_text(json.dumps(store))
    server.deploy(deployment("there", pod, group="kubelet", options=quick))
    assert server.result("run-there")["outputs"]["deploy_status_code"] == 0
    server.replace()
    eventually(lambda: not manifest.exists())


COMPOSE = '#!/bin/sh\n[ "$1" = version ] && { echo "docker-compose version $VERSION"; exit; }\necho "$PWD: $*"\n'


@pytest.fixture
def compose(guest):
    tool = guest.root / "bin/docker-compose"
    tool.parent.mkdir()
    tool.write_text(COMPOSE)
    tool.chmod(0o755)
    guest.environment.update(PATH=f"{tool.parent}:{os.path.dirname(sys.executable)}:/usr/bin:/bin", VERSION="v2.20")
    return guest


OLDEST = """
db: {image: redis, env_file: [./common.env, ./apps/web.env]}
web:
  image: nginx
  net: container:db
  log_driver: syslog
  volumes_from: [db, other]
  ports: ["80:8000"]
"""


def test_docker_compose_writes_the_project_with_env_files(server, compose, deployment, eventually):
    files = [{"file_name": "./common.env", "content": "A=1"}, {"file_name": "./apps/web.env", "content": "B=2"}]
    server.deploy(
        deployment("site", OLDEST, group="docker-compose", inputs={"env_files": files}),
        deployment("repr", {"services": {}}, group="docker-compose", inputs={"env_files": repr(files)}),
        deployment("odd", "a: {}", group="docker-compose", inputs={"env_files": "nonsense("}),
    )
    compose.start()
    done = server.result("run-site")
    assert done["outputs"]["deploy_status_code"] == 0, done
    project = compose.root / "var/lib/heat-config/heat-config-docker-compose/site"
    assert done["outputs"]["deploy_stdout"] == f"{project}: up -d --no-build\n"
    written = json.loads((project / "docker-compose.yml").read_text())
    assert (project / "docker-compose.yml").stat().st_mode & 0o777 == 0o600
    assert written["services"]["web"] == {
        "image": "nginx",
        "network_mode": "service:db",
        "logging": {"driver": "syslog"},
        "volumes_from": ["db", "container:other"],
        "ports": ["80:8000"],
    }
    assert (project / "common.env").read_text() == "A=1"
    assert (project / "apps/web.env").read_text() == "B=2"
    server.result("run-repr")
    assert "env_files is no list" in server.result("run-odd")["reason"]
    server.replace()
    eventually(lambda: not (project / "docker-compose.yml").exists())
    assert f"{project}: down" in (compose.state / "runs/run-site/withdrawal.log").read_text()


def test_docker_compose_of_the_first_generation_gets_the_text_as_it_is(server, compose, deployment):
    compose.environment["VERSION"] = "version 1.29.2, build unknown"
    server.deploy(deployment("site", OLDEST, group="docker-compose"))
    compose.start()
    server.result("run-site")
    project = compose.root / "var/lib/heat-config/heat-config-docker-compose/site"
    assert (project / "docker-compose.yml").read_text() == OLDEST


@pytest.mark.slow
def test_the_real_docker_compose_reads_what_is_written(server, guest, deployment):
    """Without a daemon it gets as far as the connection, which it makes once the file has passed."""
    if not shutil.which("docker-compose"):
        pytest.skip("no docker-compose")
    guest.environment["DOCKER_HOST"] = "unix:///no/such/socket"
    server.deploy(
        deployment("good", OLDEST.replace("[db, other]", "[db]"), group="docker-compose", inputs={"env_files": []}),
        deployment("bad", "web: {imag: nginx}", group="docker-compose"),
    )
    guest.start()
    assert server.result("run-bad", 60)["outputs"]["deploy_status_code"] != 0
    good = server.result("run-good", 60)
    assert good["outputs"]["deploy_status_code"] != 0
    assert "common.env" in good["reason"] or "connect" in good["reason"].lower(), good


@pytest.fixture
def store():
    """A folder with a short path, as podman wants it."""
    found = tempfile.mkdtemp(prefix="pod", dir="/tmp")
    yield found
    subprocess.run(["umount", "-q", f"{found}/root/overlay", f"{found}/root/vfs"], capture_output=True, check=False)
    shutil.rmtree(found, ignore_errors=True)


@pytest.fixture
def podman(guest, store):
    """podman with a store of its own, no network, and an image of one static program."""
    busybox = shutil.which("busybox")
    if os.getuid() != 0 or not shutil.which("podman") or not busybox:
        pytest.skip("no podman and busybox, or not root")
    tool = guest.root / "bin/podman"
    tool.parent.mkdir()
    runtime = "--runtime runc " if shutil.which("runc") else ""
    (guest.root / "containers.conf").write_text(
        '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n'
    )
    tool.write_text(
        f"#!/bin/sh\nexport CONTAINERS_CONF={guest.root}/containers.conf\n"
        f"exec {shutil.which('podman')} {runtime}--root {store}/root --runroot {store}/run --storage-driver vfs "
        '--cgroup-manager cgroupfs --events-backend file "$@"\n'
    )
    tool.chmod(0o755)
    image = guest.root / "image"
    (image / "bin").mkdir(parents=True)
    shutil.copy(busybox, image / "bin/busybox")
    for name in ("sh", "sleep", "echo"):
        (image / "bin" / name).symlink_to("busybox")
    subprocess.run(["tar", "cf", guest.root / "image.tar", "-C", image, "."], check=True)
    made = subprocess.run(
        [tool, "import", guest.root / "image.tar", "tiny:1"], capture_output=True, text=True, check=False
    )
    tried = subprocess.run(
        [tool, "run", "--rm", "--net=none", "tiny:1", "echo", "works"], capture_output=True, text=True, check=False
    )
    if made.returncode or tried.stdout != "works\n":
        pytest.skip(f"podman cannot run containers here: {(made.stderr + tried.stderr)[-300:]}")
    guest.environment["HEAT_DOCKER_CMD"] = str(tool)
    yield guest
    subprocess.run([tool, "rm", "-f", "-a", "-t", "0"], capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.root
def test_docker_cmd_by_the_real_podman(server, podman, deployment, eventually):
    config = {
        "sleeper": {"image": "tiny:1", "net": "none", "command": ["sleep", "1000"], "environment": {"A": "é"}},
        "look": {"action": "exec", "command": ["sleeper", "sh", "-c", "echo in $A"], "start_order": 1},
    }
    server.deploy(deployment("p", config, group="docker-cmd", inputs=WHO))
    podman.start()
    done = server.result("run-p", 120)
    assert done["outputs"]["deploy_status_code"] == 0, done
    assert "in é" in done["outputs"]["deploy_stdout"]
    server.replace()
    tool = podman.environment["HEAT_DOCKER_CMD"]
    eventually(lambda: not subprocess.run([tool, "ps", "-a", "-q"], capture_output=True, check=True).stdout, 60)


def test_a_container_tool_without_its_daemon_says_so(server, guest, deployment):
    tool = guest.root / "docker"
    tool.write_text("#!/bin/sh\necho 'Cannot connect to the daemon' >&2\nexit 1\n")
    tool.chmod(0o755)
    guest.environment["HEAT_DOCKER_CMD"] = str(tool)
    server.deploy(deployment("d", {"a": {"image": "x"}}, group="docker-cmd", inputs=WHO))
    guest.start()
    done = server.result("run-d")
    assert done["outputs"]["deploy_status_code"] == 1
    assert "Cannot connect to the daemon" in done["reason"]
    assert "cannot list containers (exit code 1)" in done["reason"]
