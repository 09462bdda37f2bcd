"""Values as YAML and JSON give them: numbers for text, nothing for something, kinds that no section can use."""

import json
import os
import stat

import pytest

from calor.cfntools import init

KEY = "AWS::CloudFormation::Init"


@pytest.fixture
def apply(tmp_path, monkeypatch, capfd):
    """Runs cfn-init on a config, or on a whole Init document; its exit code and what it said."""
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path / "no-root"))

    def run(config, *options, whole=False):
        path = tmp_path / "metadata.json"
        path.write_text(json.dumps({KEY: config if whole else {"config": config}}))
        code = init.main([*options, str(path)])
        return code, capfd.readouterr()

    return run


@pytest.mark.parametrize(
    ("mode", "wanted"), [("0640", 0o640), ("000400", 0o400), ("100755", 0o755), (644, 0o644), (600, 0o600), ("0", 0)]
)
def test_a_mode_is_octal_as_text_and_as_the_digits_of_a_number(apply, tmp_path, mode, wanted):
    assert apply({"files": {str(tmp_path / "f"): {"content": "", "mode": mode}}})[0] == 0
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == wanted


@pytest.mark.parametrize("mode", [0o644, 0o400, 0o755, 0o600, 0o640, 0o1777])
def test_f102_a_mode_that_yaml_has_changed_is_the_one_that_was_written(apply, tmp_path, mode):
    code, said = apply({"files": {str(tmp_path / "f"): {"content": "", "mode": mode}}})
    assert code == 0
    assert f"mode {mode} is taken for 0{mode:o}, as YAML reads it: quote it" in said.err
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == mode


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("-1", "mode '-1' is not octal"),
        ("7777777", "mode '7777777' is not octal"),
        (True, "mode True is not octal"),
        ([600], "mode [600] is not octal"),
        (99, "mode 99 is not octal"),
    ],
)
def test_a_mode_that_is_none_is_refused(apply, tmp_path, mode, message):
    code, said = apply({"files": {str(tmp_path / "f"): {"content": "", "mode": mode}}})
    assert code == 1
    assert message in said.err
    assert not (tmp_path / "f").exists()


def test_content_that_is_null_is_none(apply, tmp_path):
    path = tmp_path / "f"
    code, said = apply({"files": {str(path): {"content": None}}})
    assert code == 1
    assert "neither content nor source" in said.err
    (tmp_path / "source").write_text("fetched")
    assert apply({"files": {str(path): {"content": None, "source": str(tmp_path / "source")}}})[0] == 0
    assert path.read_text() == "fetched"
    assert apply({"files": {str(path): {"content": 8080}}})[0] == 0
    assert path.read_text() == "8080\n"


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"command": "true", "test": False}, "commands: a: test false is neither text nor a list"),
        ({"command": "true", "test": {"a": 1}}, 'commands: a: test {"a": 1} is neither text nor a list'),
        ({"command": True}, "commands: a: command true is neither text nor a list"),
        ({"command": "true", "defaults": 5}, "commands: a: defaults 5 is neither text nor a list"),
        ({"command": "true", "env": ["A=1"]}, "commands: a: env must be a map"),
        ({"command": "true", "env": {"A=B": "1"}}, "commands: a: illegal environment variable name"),
        ({"command": ["echo", "a\0b"]}, "commands: a: embedded null byte"),
    ],
)
def test_a_command_that_is_none_is_named(apply, item, message):
    code, said = apply({"commands": {"a": item}})
    assert code == 1
    assert message in said.err


def test_words_and_variables_are_written_as_in_json(apply):
    item = {
        "command": ["sh", "-c", 'echo "$YES $NO $MANY [$NONE] $0 $1"', 1, True],
        "env": {"YES": True, "NO": False, "MANY": [1, {"a": "b"}], "NONE": None},
    }
    code, said = apply({"commands": {"a": item}})
    assert code == 0
    assert said.out.splitlines()[0] == 'true false [1, {"a": "b"}] [] 1 true'


@pytest.mark.root
def test_a_command_for_a_user_finds_that_users_home(apply, monkeypatch):
    monkeypatch.setenv("HOME", "/root")
    shown = 'echo "$HOME $USER $LOGNAME $A"'
    code, said = apply({"commands": {"a": {"command": shown, "runas": "nobody"}}})
    assert code == 0
    assert said.out.splitlines()[0] == "/nonexistent nobody nobody "
    env = {"A": "1", "HOME": "/srv"}
    assert apply({"commands": {"a": {"command": shown, "runas": "nobody", "env": env}}})[1].out.splitlines()[0] == (
        "/srv nobody nobody 1"
    )


def test_sections_and_configs_that_are_empty_do_nothing(apply):
    empty = {"packages": {"apt": None}, "groups": {}, "users": None, "files": [], "services": {"systemd": None}}
    for whole in ({"config": empty}, {"config": None}, {"config": {}, "configSets": {}}):
        code, said = apply(whole, whole=True)
        assert (code, said.out, said.err) == (0, "nothing changed\n", "")


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (5, "configSets must be a map"),
        ({"default": True}, "config set default must be a list"),
        ({"default": [["one"]]}, 'config set default: ["one"] is neither the name of a config nor {"ConfigSet": NAME}'),
        ({"default": [{"Config": "one"}]}, '{"Config": "one"} is neither the name of a config nor'),
        ({"default": ["two"]}, "config two must be a map"),
        ({"default": ["configSets"]}, "no config configSets; there are: one, two"),
    ],
)
def test_config_sets_that_are_none_are_named(apply, sets, message):
    code, said = apply({"configSets": sets, "one": {}, "two": "text"}, whole=True)
    assert code == 1
    assert message in said.err


def test_configs_may_have_numbers_for_names(apply):
    assert apply({"configSets": {"default": [1]}, "1": {}}, whole=True)[0] == 0


@pytest.mark.parametrize("section", ["files", "sources"])
def test_what_is_no_address_is_refused_at_once(apply, tmp_path, section, monkeypatch):
    monkeypatch.setattr("calor.cfntools.fetching.PATIENCE", 3600)
    for address in ("site.tgz", "ftp://host.example/site.tgz"):
        code, said = apply({section: {str(tmp_path / "x"): {"source": address}}})
        assert code == 1
        assert said.err == (
            f"cfn-init: {section}: {tmp_path}/x: {address} is neither an http(s) address nor an absolute path\n"
        )


@pytest.mark.parametrize("section", ["files", "sources"])
def test_an_address_that_cannot_be_read_is_an_error_like_others(apply, tmp_path, section):
    code, said = apply({section: {str(tmp_path / "x"): {"source": "http://[::1/x"}}})
    assert code == 1
    assert "http://[::1/x: Invalid IPv6 URL" in said.err


def test_a_path_that_no_file_system_takes_is_an_error_like_others(apply):
    code, said = apply({"files": {"/tmp/a\0b": {"content": ""}}})
    assert code == 1
    assert "embedded null byte" in said.err


def test_what_is_applied_can_be_read_where_aws_leaves_it(apply, tmp_path):
    shown = tmp_path / "no-root/var/lib/cfn-init/data/metadata.json"
    config = {"commands": {"a": {"command": f"cp {shown} {tmp_path}/seen"}}}
    assert apply(config)[0] == 0
    assert json.loads((tmp_path / "seen").read_text()) == {KEY: {"config": config}}
    assert stat.S_IMODE(shown.stat().st_mode) == 0o600
    before = shown.stat().st_ino
    assert apply(config)[0] == 0
    assert shown.stat().st_ino == before, "a second run does not write it anew"
    os.truncate(shown, 0)
    assert init.main([str(shown)]) == 1


def test_a_stack_without_a_resource_is_wrong_usage(tmp_path, capsys):
    for words in (["-s", "stack"], ["-r", "resource"]):
        with pytest.raises(SystemExit, match="2"):
            init.main(words)
        assert "--stack and --resource go together" in capsys.readouterr().err
