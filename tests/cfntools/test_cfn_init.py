"""cfn-init brings a machine to a state, in AWS's order, and stops at the first thing that is wrong."""

import io
import json
import os
import re
import stat
import tarfile

import pytest

from calor.cfntools import init, sections


@pytest.fixture
def apply(tmp_path, monkeypatch):
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path / "no-root"))

    def run(config, *options, whole=False):
        document = {"AWS::CloudFormation::Init": config if whole else {"config": config}}
        path = tmp_path / "metadata.json"
        path.write_text(json.dumps(document))
        return init.main([*options, str(path)])

    return run


def printed(capfd):
    """What the commands printed, without the lines that say how much changed."""
    lines = capfd.readouterr().out.splitlines()
    return [line for line in lines if not re.search(r"^[a-z]+: \d+ [a-z]+, \d+ |^nothing changed$", line)]


def test_f078_sections_are_applied_in_the_order_of_aws():
    names = [section.NAME for section in sections.SECTIONS]
    assert names == ["packages", "groups", "users", "sources", "files", "commands", "services"]


def test_f079_a_map_as_content_becomes_indented_utf8_json(apply, tmp_path):
    path = tmp_path / "deep" / "a.json"
    assert apply({"files": {str(path): {"content": {"a": 1, "é": "ü"}, "mode": "000600"}}}) == 0
    assert json.loads(path.read_bytes().decode("utf-8")) == {"a": 1, "é": "ü"}
    assert "ü" in path.read_text("utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_file_contents_base64_source_and_symlink(apply, tmp_path, listener):
    listener.answers = [(200, b"\x00\xff")]
    files = {
        "plain": {"content": "text"},
        "binary": {"content": "AP8=", "encoding": "base64"},
        "fetched": {"source": listener.url + "/f"},
        "link": {"content": str(tmp_path / "plain"), "mode": "120644"},
    }
    assert apply({"files": {str(tmp_path / name): value for name, value in files.items()}}) == 0
    assert (tmp_path / "plain").read_text() == "text"
    assert (tmp_path / "binary").read_bytes() == b"\x00\xff" == (tmp_path / "fetched").read_bytes()
    assert os.readlink(tmp_path / "link") == str(tmp_path / "plain")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"files": {"/tmp/x": {"content": "", "owner": "nosuch"}}}, "there is no owner nosuch"),
        ({"files": {"/tmp/x": {}}}, "neither content nor source"),
        ({"files": {"relative": {"content": ""}}}, "not an absolute path"),
        ({"files": {"/tmp/x": {"content": "", "mode": "9"}}}, "not octal"),
        ({"commands": {"a": {"command": "true", "cwd": "/nope"}}}, "cwd /nope is not there"),
        ({"commands": {"a": {"command": ["/no/such/command"]}}}, "No such file"),
        ({"commands": {"a": {}}}, "has no command"),
        ({"commands": {"a": {"command": "true", "runas": "nosuch"}}}, "there is no user nosuch"),
        ({"fiels": {}}, "unknown section fiels; known: packages"),
        ({"services": {"upstart": {}}}, "unknown manager upstart"),
        ({"packages": {"pacman": {}}}, "unknown manager pacman"),
    ],
)
def test_f081_what_is_wrong_is_an_error_and_named(apply, capfd, config, message):
    assert apply(config) == 1
    assert message in capfd.readouterr().err


@pytest.mark.parametrize(
    "wrong", [{"fiels": {}}, {"services": {"upstart": {"x": {}}}}, {"packages": {"pacman": {}}}, {"files": ["/x"]}]
)
def test_f081_what_cannot_be_applied_is_found_before_anything_is_done(apply, tmp_path, wrong):
    configs = {"first": {"commands": {"1": {"command": f"touch {tmp_path}/done"}}}, "second": wrong}
    assert apply({"configSets": {"default": ["first", "second"]}, **configs}, whole=True) == 1
    assert not (tmp_path / "done").exists()


def test_f081_errors_of_commands_can_be_ignored(apply, tmp_path):
    done = tmp_path / "done"
    commands = {
        "1": {"command": "true", "cwd": "/nope", "ignoreErrors": True},
        "2": {"command": ["/no/such"], "ignoreErrors": "true"},
        "3": {"command": f"touch {done}"},
    }
    assert apply({"commands": commands}) == 0
    assert done.exists()


def test_f084_the_first_failing_command_stops_the_run(apply, tmp_path):
    log = tmp_path / "log"
    commands = {
        name: {"command": f"echo {name} >>{log}; exit {code}"} for name, code in (("01", 0), ("02", 1), ("03", 0))
    }
    assert apply({"commands": commands}) == 1
    assert log.read_text().split() == ["01", "02"]
    commands["02"]["ignoreErrors"] = "true"
    assert apply({"commands": commands}) == 0
    assert log.read_text().split()[2:] == ["01", "02", "03"]


def test_f085_a_list_never_meets_a_shell_and_text_does(apply, capfd, tmp_path):
    pwn = tmp_path / "pwn"
    assert apply({"commands": {"1": {"command": ["echo", f"a;touch {pwn}"]}}}) == 0
    assert not pwn.exists()
    assert apply({"commands": {"1": {"command": "echo a && echo b"}}}) == 0
    assert printed(capfd) == [f"a;touch {pwn}", "a", "b"]


def test_f086_a_test_runs_with_the_commands_directory_and_environment(apply, tmp_path):
    (tmp_path / "flag").touch()
    made = tmp_path / "made"
    item = {"command": f"touch {made}", "cwd": str(tmp_path), "env": {"WORD": "yes"}}
    assert apply({"commands": {"1": {**item, "test": '[ -f flag ] && [ "$WORD" = no ]'}}}) == 0
    assert not made.exists()
    assert apply({"commands": {"1": {**item, "test": '[ -f flag ] && [ "$WORD" = yes ]'}}}) == 0
    assert made.exists()


def test_env_replaces_the_environment_but_path(apply, capfd, monkeypatch):
    monkeypatch.setenv("FROM_OUTSIDE", "1")
    assert apply({"commands": {"1": {"command": 'echo "[$FROM_OUTSIDE][$A]"; ls / >/dev/null', "env": {"A": 5}}}}) == 0
    assert printed(capfd) == ["[][5]"]


def test_config_sets_nest_and_are_chosen_by_name(apply, capfd):
    configs = {name: {"commands": {"1": {"command": f"echo {name}"}}} for name in ("one", "two", "three")}
    sets = {"default": ["one"], "both": [{"ConfigSet": "default"}, "two"], "text": "three"}
    whole = {"configSets": sets, **configs}
    assert apply(whole, whole=True) == 0
    assert apply(whole, "-c", "both,text", whole=True) == 0
    assert printed(capfd) == ["one", "one", "two", "three"]


@pytest.mark.parametrize(
    ("sets", "names", "message"),
    [
        ({"default": ["nope"]}, [], "no config nope; there are: one"),
        ({"a": ["one"]}, ["b"], "no config set b; there are: a"),
        ({"a": [{"ConfigSet": "b"}], "b": [{"ConfigSet": "a"}]}, ["a"], "holds itself: a > b > a"),
        ({"a": []}, ["a"], "config set a is empty"),
        (None, ["a"], "no configSets"),
    ],
)
def test_config_sets_that_cannot_be_resolved(apply, capfd, sets, names, message):
    whole = {"one": {}, **({"configSets": sets} if sets is not None else {})}
    assert apply(whole, *(["-c", ",".join(names)] if names else []), whole=True) == 1
    assert message in capfd.readouterr().err


def test_source_is_unpacked_and_f091_nothing_is_left_behind(apply, tmp_path, listener, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(work))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        member = tarfile.TarInfo("sub/file")
        member.size = 4
        tar.addfile(member, io.BytesIO(b"data"))
    listener.answers = [(200, packed.getvalue())]
    assert apply({"sources": {str(tmp_path / "out"): listener.url + "/x.tgz"}}) == 0
    assert (tmp_path / "out/sub/file").read_bytes() == b"data"
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("name", ["../evil", "/abs/evil"])
def test_a_source_that_leaves_its_directory_is_refused(apply, tmp_path, capfd, name):
    path = tmp_path / "bad.tar"
    with tarfile.open(path, "w") as tar:
        tar.addfile(tarfile.TarInfo(name))
    assert apply({"sources": {str(tmp_path / "out"): str(path)}}) == 1
    assert "outside the target" in capfd.readouterr().err


def test_no_metadata_anywhere_is_an_error(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path))
    assert init.main(["-s", "stack", "-r", "res"]) == 1
    assert "no metadata: CloudFormation API: no address or no EC2 key pair" in capfd.readouterr().err
