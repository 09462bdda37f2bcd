"""The hooks that write data: json-file, hiera, apply-config with its trees of templates."""

import json
import os
import subprocess

import pytest


def test_json_file_writes_each_path_whole(server, guest, deployment):
    old = guest.root / "etc/app/old.json"
    old.parent.mkdir(parents=True)
    old.write_text("x" * 1000)
    old.chmod(0o600)
    config = {"/etc/app/old.json": {"b": [1, "ü"], "a": None}, "/etc/app/new.json": ["text"]}
    server.deploy(
        deployment("j", config, group="json-file"),
        deployment("text", json.dumps(config), group="json-file"),
        deployment("relative", {"etc/x.json": 1}, group="json-file"),
        deployment("broken", "{", group="json-file"),
    )
    guest.start()
    assert server.result("run-j")["outputs"] == {"deploy_stdout": "", "deploy_stderr": "", "deploy_status_code": 0}
    assert old.read_text() == '{\n    "a": null,\n    "b": [\n        1,\n        "\\u00fc"\n    ]\n}'
    assert old.stat().st_mode & 0o777 == 0o600
    assert (guest.root / "etc/app/new.json").stat().st_mode & 0o777 == 0o644
    assert server.result("run-text")["outputs"]["deploy_status_code"] == 0
    assert server.result("run-relative")["reason"] == "json-file hook: etc/x.json is not an absolute path"
    assert "the config of group json-file is not JSON" in server.result("run-broken")["reason"]


@pytest.mark.root
def test_a_data_file_keeps_its_owner_and_is_found_behind_a_link(server, guest, deployment):
    real, link = guest.root / "real.json", guest.root / "etc/link.json"
    real.write_text("{}")
    os.chown(real, 12345, 12346)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(real)
    server.deploy(deployment("l", {"/etc/link.json": {"a": 1}}, group="json-file"))
    guest.start()
    assert server.result("run-l")["reason"] == ""
    assert link.is_symlink()
    assert json.loads(real.read_text()) == {"a": 1}
    assert (real.stat().st_uid, real.stat().st_gid) == (12345, 12346)


def test_a_file_that_cannot_be_written_is_a_failure(server, guest, deployment):
    (guest.root / "blocked").write_text("a file, no folder")
    server.deploy(deployment("f", {"/blocked/x.json": {}}, group="json-file"))
    guest.start()
    done = server.result("run-f")
    assert done["outputs"]["deploy_status_code"] == 1
    assert "blocked" in done["reason"]


def test_hiera_writes_its_configuration_and_data(server, guest, deployment):
    config = {"hierarchy": ["node", "common"], "datafiles": {"common": {"port": 80, "b": 1}, "dc/one": {"x": "y"}}}
    server.deploy(
        deployment("h", config, group="hiera"),
        deployment("v5", {"hierarchy": ["common"]}, group="hiera", options={"version": 5}),
    )
    guest.start()
    assert server.result("run-h")["outputs"]["deploy_status_code"] == 0
    data = guest.root / "etc/puppet/hieradata"
    assert (data / "common.json").read_text() == '{\n    "b": 1,\n    "port": 80\n}'
    assert (data / "common.json").stat().st_mode & 0o777 == 0o600
    assert json.loads((data / "dc/one.json").read_text()) == {"x": "y"}
    server.result("run-v5")
    assert (
        f'datadir: {data}\n  data_hash: json_data\nhierarchy:\n  - name: "common"\n    path: "common.json"\n'
        in (guest.root / "etc/puppet/hiera.yaml").read_text()
    )


def test_hiera_refuses_beside_data_of_os_apply_config(server, guest, deployment):
    guest.environment["HEAT_HIERA_ELEMENT_CHECK_CMD"] = "echo {common:1}"
    server.deploy(deployment("h", {"datafiles": {"a": {}}}, group="hiera"))
    guest.start()
    done = server.result("run-h")
    assert done["outputs"]["deploy_status_code"] == 1
    assert "{common:1}" in done["outputs"]["deploy_stderr"]
    assert not (guest.root / "etc/puppet/hieradata").exists()


@pytest.mark.slow
def test_puppets_hiera_finds_what_was_written(server, guest, deployment):
    if not os.path.exists("/usr/bin/hiera"):
        pytest.skip("no hiera")
    config = {"hierarchy": ["node", "common"], "datafiles": {"common": {"port": "80"}, "node": {"name": "n1"}}}
    server.deploy(deployment("h", config, group="hiera"))
    guest.start()
    server.result("run-h")
    for key, value in (("port", "80"), ("name", "n1")):
        said = subprocess.run(
            ["hiera", "-c", str(guest.root / "etc/puppet/hiera.yaml"), key], capture_output=True, text=True, check=True
        )
        assert said.stdout.strip() == value


METADATA = {
    "ntp": {"servers": [{"server": "a.example"}, {"server": "b.example"}]},
    "title": "<&>",
    "number": 1.5,
    "flag": True,
    "map": {"k": [1]},
    "nothing": None,
}
TREE = {
    "etc/ntp.conf": "# {{title}}\n{{#ntp}}\n{{#servers}}\nserver {{server}} {{{title}}}\n{{/servers}}\n{{/ntp}}\n",
    "etc/values": "{{number}} {{flag}} {{map}} [{{nothing}}] [{{absent.key}}]{{^absent}} none{{/absent}}\n",
    "etc/gone": "{{absent}}",
    "etc/gone.oac": "---\nallow_empty: false  # deleted\n",
    "etc/private": "x",
    "etc/private.oac": "mode: 0640\nowner: 0\n",
    "usr/made": "#!/bin/sh\ncat\n",
}


def plant(root):
    for name, text in TREE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "usr/made").chmod(0o755)


def test_apply_config_renders_the_tree_with_what_the_groups_without_hook_bring(server, guest, deployment):
    plant(guest.root / "usr/libexec/os-apply-config/templates")
    (guest.root / "etc").mkdir(exist_ok=True)
    (guest.root / "etc/gone").write_text("of before")
    guest.environment["PATH"] = "/usr/bin:/bin"
    first = {key: value for key, value in METADATA.items() if key != "ntp"}
    server.deploy(
        deployment("data", {**first, "ntp": {"servers": [], "other": 1}}, group="os-apply-config"),
        deployment("more", json.dumps({"ntp": METADATA["ntp"]}), group="Heat::Ungrouped"),
        deployment("a", None, group="apply-config"),
    )
    guest.start()
    done = server.result("run-a")
    assert done["outputs"]["deploy_status_code"] == 0, done
    etc = guest.root / "etc"
    assert (etc / "ntp.conf").read_text() == "# <&>\nserver a.example <&>\nserver b.example <&>\n"
    assert (etc / "values").read_text() == '1.5 true {"k": [1]} [] [] none\n'
    assert (etc / "private").stat().st_mode & 0o777 == 0o640
    assert not (etc / "gone").exists()
    assert json.loads((guest.root / "usr/made").read_text())["ntp"] == {**METADATA["ntp"], "other": 1}
    assert f"wrote {etc}/ntp.conf" in server.result("run-data")["outputs"]["deploy_stdout"]
    assert done["outputs"]["deploy_stdout"] == "", "the first has rendered with the data of all"


READ_ALL = "IFS=:; for file in $OS_CONFIG_FILES; do cat $file; echo; done"


def test_every_program_is_told_the_files_that_the_metadata_lies_in(server, guest, deployment):
    data = (
        deployment("a/b", {"who": "first"}, group="os-apply-config"),
        deployment("more", "[]", group="os-apply-config"),
    )
    server.deploy(*data, deployment("again", {"who": "later"}, group="Heat::Ungrouped"), deployment("s", READ_ALL))
    guest.start()
    assert server.result("run-s")["outputs"]["deploy_stdout"] == '{"who": "first"}\n{"who": "later"}\n'
    server.replace(data[0], deployment("t", READ_ALL))
    assert server.result("run-t")["outputs"]["deploy_stdout"] == '{"who": "first"}\n'


@pytest.mark.slow
def test_os_apply_config_itself_finds_what_our_server_hands_out(server, guest, deployment, reference_agents):
    tool = f"{reference_agents}/bin/os-apply-config --key ntp.pool --type raw"
    server.deploy(
        deployment("data", {"ntp": {"pool": "a.example"}}, group="os-apply-config"),
        deployment("s", tool + " 2>&1"),
        deployment("a", None, group="apply-config"),
    )
    guest.environment["HEAT_APPLY_CONFIG_CMD"] = tool
    guest.start()
    assert server.result("run-s")["outputs"]["deploy_stdout"] == "a.example\n"
    assert server.result("run-a")["outputs"]["deploy_stdout"] == "a.example\n"


def test_os_apply_config_puts_its_data_into_the_tree_and_is_complete(server, guest, deployment):
    plant(guest.root / "usr/libexec/os-apply-config/templates")
    guest.environment["PATH"] = "/usr/bin:/bin"
    server.deploy(deployment("data", METADATA, group="os-apply-config"))
    guest.start()
    assert server.result("run-data")["outputs"]["deploy_status_code"] == 0
    assert (guest.root / "etc/ntp.conf").read_text() == "# <&>\nserver a.example <&>\nserver b.example <&>\n"


def test_os_apply_config_without_a_tree_is_complete_and_its_data_are_kept(server, guest, deployment):
    guest.environment["PATH"] = "/usr/bin:/bin"
    server.deploy(deployment("data", {"templates": 5}, group="os-apply-config"))
    guest.start()
    assert server.result("run-data")["outputs"]["deploy_status_code"] == 0
    assert any("templates" in path.read_text() for path in (guest.root / "var/lib/calor").rglob("*.json"))


def test_apply_config_renders_templates_of_its_own_and_says_what_is_wrong(server, guest, deployment):
    guest.environment["PATH"] = "/usr/bin:/bin"
    target = {"/etc/motd": "hi {{who}}", "/etc/key": {"content": "{{who}}", "mode": "0600"}}
    server.deploy(
        deployment("own", {"templates": target, "metadata": {"who": "me"}}, group="apply-config"),
        deployment("bad", {"templates": {"/etc/new": "x", "/etc/worse": "{{#open}}"}}, group="apply-config"),
        deployment("mode", {"templates": {"/etc/new": {"content": "x", "mode": "rw"}}}, group="apply-config"),
    )
    guest.start()
    assert server.result("run-own")["outputs"]["deploy_status_code"] == 0
    assert (guest.root / "etc/motd").read_text() == "hi me"
    assert (guest.root / "etc/key").stat().st_mode & 0o777 == 0o600
    assert "template /etc/worse: line 1: open begins here and does not end" in server.result("run-bad")["reason"]
    assert "mode 'rw'" in server.result("run-mode")["reason"]
    assert not (guest.root / "etc/new").exists(), "nothing is written unless all can be rendered"


@pytest.mark.slow
def test_os_apply_config_itself_writes_the_same(server, guest, deployment, reference_agents, tmp_path):
    plant(tmp_path / "templates")
    (tmp_path / "metadata.json").write_text(json.dumps(METADATA))
    subprocess.run(
        [reference_agents / "bin/os-apply-config", "-t", str(tmp_path / "templates"), "-o", str(tmp_path / "theirs"),
         "-m", str(tmp_path / "metadata.json"), "--fallback-metadata"],
        check=True, capture_output=True, text=True, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    plant(guest.root / "usr/libexec/os-apply-config/templates")
    guest.environment["PATH"] = "/usr/bin:/bin"
    server.deploy(deployment("data", METADATA, group="os-apply-config"), deployment("a", None, group="apply-config"))
    guest.start()
    assert server.result("run-a")["outputs"]["deploy_status_code"] == 0
    for name in ("etc/ntp.conf", "etc/values", "etc/private"):
        assert (guest.root / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes(), name
        assert (guest.root / name).stat().st_mode == (tmp_path / "theirs" / name).stat().st_mode
    assert json.loads((guest.root / "usr/made").read_text()) == json.loads((tmp_path / "theirs/usr/made").read_text())
    assert not (tmp_path / "theirs/etc/gone").exists()
