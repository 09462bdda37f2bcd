"""The ansible hook with all that lies around a playbook: roles, group_vars, vaults, requirements, inventories."""

import base64
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TOOLS = Path(sys.executable).parent

SITE = """
- hosts: all
  gather_facts: false
  roles: [greeter]
"""
FILES = {
    "site.yml": SITE,
    "group_vars/all.yml": "planet: Mars\n",
    "roles/greeter/defaults/main.yml": "greeting: hello\n",
    "roles/greeter/templates/letter.j2": "{{ greeting }}, {{ planet }} and {{ moon }}",
    "roles/greeter/tasks/main.yml": (
        "- name: write the letter\n  template: {src: letter.j2, dest: '{{ heat_outputs_path }}.letter'}\n"
        "- name: keep count\n  set_stats: {data: {count: 3, places: {a: [1]}, secret: x}}\n"
    ),
}


def tar(files: dict[str, str], kind: str = "gz", below: str = "") -> str:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=f"w:{kind}") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(below + name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return base64.encodebytes(packed.getvalue()).decode()


def zipped(files: dict[str, str]) -> str:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return base64.b64encode(packed.getvalue()).decode()


@pytest.fixture
def with_ansible(guest):
    if not (TOOLS / "ansible-playbook").exists():
        pytest.skip("no ansible-playbook beside this Python")
    guest.environment["PATH"] = f"{TOOLS}:/usr/sbin:/usr/bin:/sbin:/bin"
    guest.environment["HOME"] = str(guest.root)
    return guest


def test_f075_a_bundle_in_each_way_it_can_be_given(server, with_ansible, deployment):
    more = {"group": "ansible", "inputs": {"moon": "Phobos"}, "outputs": ["letter", "count", "places"]}
    server.deploy(
        deployment("config", tar(FILES), **more),
        deployment("folder", tar(FILES, "xz", below="project-1.0/"), **more),
        deployment("zip", "", options={"bundle": zipped(FILES)}, **more),
        deployment("map", {"files": FILES, "playbook": "site.yml"}, **more),
        deployment("beside", SITE, options={"files": {k: v for k, v in FILES.items() if k != "site.yml"}}, **more),
    )
    with_ansible.start()
    for name in ("config", "folder", "zip", "map", "beside"):
        done = server.result(f"run-{name}", 120)
        assert done["outputs"]["deploy_status_code"] == 0, done
        assert done["outputs"]["letter"] == "hello, Mars and Phobos", name
        assert (done["outputs"]["count"], done["outputs"]["places"]) == (3, {"a": [1]})
        assert "secret" not in done["outputs"]


def test_f190_the_task_that_runs_is_told(server, with_ansible, deployment, eventually):
    text = "- hosts: all\n  gather_facts: false\n  tasks:\n    - {name: be idle, command: sleep 4}\n"
    server.deploy(deployment("t", text, group="ansible"))
    with_ansible.start()
    step = with_ansible.state / "runs/run-t/attempt-1/step"
    eventually(lambda: step.exists() and step.read_text() == "task 1: be idle\n", 60)
    assert server.result("run-t", 60)["outputs"]["deploy_status_code"] == 0


def test_f075_vaults_inventories_check_mode_and_privileges(server, with_ansible, deployment, eventually):
    vault = encrypted(with_ansible.root, "swordfish", "treasure: gold")
    other = encrypted(with_ansible.root, "barracuda", "pearls: twelve", "deep")
    play = (
        "- hosts: web\n  gather_facts: false\n  vars_files: [a.yml, b.yml]\n  tasks:\n"
        "    - debug: {msg: '{{ treasure }} {{ pearls }} {{ port }}'}\n"
        "    - {name: never, command: /bin/false, tags: [never]}\n"
        "    - {name: only said, copy: {content: x, dest: '{{ heat_outputs_path }}.made'}}\n"
    )
    inventory = {"web": {"hosts": {"localhost": {"ansible_connection": "local", "port": 81}}}}
    options = {
        "files": {"a.yml": vault, "b.yml": other},
        "inventory": inventory,
        "check": True,
        "diff": "true",
        "skip_tags": ["one", "two"],
        "verbosity": 1,
        "forks": 2,
        "limit": ["web"],
    }
    inputs = {"ansible_vault_password": "swordfish", "ansible_vault_passwords": {"deep": "barracuda"}}
    server.deploy(deployment("v", play, group="ansible", inputs=inputs, outputs=["made"], options=options))
    with_ansible.start()
    done = server.result("run-v", 120)
    assert done["outputs"]["deploy_status_code"] == 0, done
    assert "gold twelve 81" in done["outputs"]["deploy_stdout"]
    assert "made" not in done["outputs"], "check mode makes nothing"
    eventually(lambda: not list((with_ansible.root / "var/lib/calor/outbox").iterdir()))
    left = [path for path in with_ansible.root.rglob("*") if path.is_file() and "runs/" not in str(path)]
    assert not [path for path in left if b"swordfish" in path.read_bytes() or b"barracuda" in path.read_bytes()]


def encrypted(root: Path, password: str, text: str, ident: str = "") -> str:
    """A file of ansible-vault."""
    secret, target = root / "pass", root / "vaulted.yml"
    secret.write_text(password)
    target.write_text(text)
    label = f"{ident}@{secret}" if ident else str(secret)
    subprocess.run(
        [TOOLS / "ansible-vault", "encrypt", "--vault-id", label, str(target)],
        check=True,
        capture_output=True,
        env={**os.environ, "HOME": str(root)},
    )
    secret.unlink()
    found = target.read_text()
    target.unlink()
    return found


def test_f075_collections_and_roles_of_the_requirements_are_installed_without_network(
    server, with_ansible, deployment, tmp_path
):
    made = tmp_path / "made"
    collection = {
        "galaxy.yml": "namespace: acme\nname: tools\nversion: 1.0.0\nreadme: README.md\nauthors: [me]\n",
        "README.md": "x",
        "roles/shout/tasks/main.yml": "- debug: {msg: 'LOUD {{ word }}'}\n",
    }
    for name, text in collection.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text)
    subprocess.run(
        [TOOLS / "ansible-galaxy", "collection", "build", str(made), "--output-path", str(tmp_path)],
        check=True,
        capture_output=True,
        env={**os.environ, "HOME": str(with_ansible.root)},
    )
    packed = tmp_path / "acme-tools-1.0.0.tar.gz"
    requirements = {"collections": [{"name": str(packed), "type": "file"}]}
    play = "- hosts: all\n  gather_facts: false\n  roles: [acme.tools.shout]\n"
    options = {"requirements": requirements, "files": {"README": "makes it a bundle"}}
    server.deploy(
        deployment("first", play, group="ansible", inputs={"word": "hey"}, options=options),
        deployment("again", play, group="ansible", inputs={"word": "ho"}, options=options),
        deployment("lacking", play, group="ansible", options={"requirements": "- src: /no/such/role.tar.gz\n"}),
    )
    with_ansible.start()
    first, again = (server.result(f"run-{name}", 120)["outputs"] for name in ("first", "again"))
    assert first["deploy_status_code"] == 0, first
    assert "LOUD hey" in first["deploy_stdout"]
    assert "acme.tools:1.0.0 was installed" in first["deploy_stdout"]
    assert "LOUD ho" in again["deploy_stdout"]
    assert "Nothing to do" in again["deploy_stdout"]
    lacking = server.result("run-lacking", 120)
    assert lacking["outputs"]["deploy_status_code"] == 1, lacking
    assert "/no/such/role.tar.gz" in json.dumps(lacking)


@pytest.mark.parametrize(
    ("config", "options", "said"),
    [
        ({"tasks": []}, {}, "playbook, files and bundle only"),
        ({"files": {"../out": "x"}}, {}, "the file ../out lies outside the bundle"),
        ({"files": {"x": ""}}, {}, "the bundle has none of site.yml"),
        ({"files": {"x": ""}, "playbook": "y.yml"}, {}, "the bundle has no playbook y.yml"),
        ("", {"bundle": "bm90IGFuIGFyY2hpdmU="}, "the bundle is no tar or zip archive"),
        (tar({"../../out": "x"}), {}, "it holds ../../out, outside the target"),
    ],
)
def test_a_bundle_that_is_none_is_refused_with_the_reason(server, with_ansible, deployment, config, options, said):
    server.deploy(deployment("b", config, group="ansible", options=options))
    with_ansible.start()
    done = server.result("run-b")
    assert done["outputs"]["deploy_status_code"] == 1
    assert said in done["reason"]
    assert not (with_ansible.root.parent / "out").exists()
