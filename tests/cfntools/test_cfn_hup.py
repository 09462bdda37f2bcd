"""cfn-hup runs an action once for a change, again until it succeeds, and never for what is old."""

import json
import os
import signal
import subprocess
import sys
import time
from html import escape
from pathlib import Path

import pytest

from calor.cfntools import durable, hup

ROOTS = ":".join(str(Path(__file__).resolve().parents[2] / part) for part in ("agent", "cfntools"))
XML = """<R xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><S><StackResourceDetail>
<LastUpdatedTimestamp>{updated}</LastUpdatedTimestamp><Metadata>{metadata}</Metadata>
<PhysicalResourceId>{physical}</PhysicalResourceId><ResourceStatus>{status}</ResourceStatus>
</StackResourceDetail></S></R>"""
GONE = (400, b"<ErrorResponse><Error><Code>InvalidParameterValue</Code><Message>gone</Message></Error></ErrorResponse>")


def described(metadata, *, status="CREATE_COMPLETE", physical="p-1", updated="2026-01-01T00:00:00Z"):
    text = XML.format(metadata=escape(json.dumps(metadata)), status=status, physical=physical, updated=updated)
    return (200, text.encode())


class Guest:
    """An instance's root, with cfn-hup configured to append a line to ``log`` on each event."""

    def __init__(self, root: Path, url: str) -> None:
        self.root, self.log = root, root / "log"
        self.write("etc/cfn/cfn-credentials", "AWSAccessKeyId=AK\nAWSSecretKey=SK\n")
        self.main(url)
        self.hook("one")

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def main(self, url: str, *lines: str) -> None:
        credentials = self.root / "etc/cfn/cfn-credentials"
        main = [f"stack=st\ncredential-file={credentials}\nurl={url}", *lines]
        self.write("etc/cfn/cfn-hup.conf", "[main]\n" + "\n".join(main) + "\n")

    def hook(
        self, name: str, *, path="Resources.res.Metadata", triggers="post.add, post.update, post.remove", action=""
    ):
        action = action or f'echo "{name} $CFN_OLD_METADATA $CFN_NEW_METADATA" >>{self.log}'
        self.write(f"etc/cfn/hooks.d/{name}.conf", f"[{name}]\ntriggers={triggers}\npath={path}\naction={action}\n")

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def guest(tmp_path, listener, monkeypatch):
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path))
    (tmp_path / "var/log").mkdir(parents=True)
    return Guest(tmp_path, listener.url)


def test_an_action_runs_once_for_each_change(guest, listener):
    listener.answers = [described({"a": 1})]
    assert [hup.main([]), hup.main([])] == [0, 0]
    listener.answers = [described({"a": 2})]
    assert [hup.main([]), hup.main(["-f"])] == [0, 0]
    listener.answers = [GONE]
    assert [hup.main([]), hup.main([])] == [0, 0]
    assert guest.lines() == ['one  {"a": 1}', 'one {"a": 1} {"a": 2}', 'one {"a": 2} ']
    state = guest.root / "var/lib/cfn-hup/data/metadata_db.json"
    assert state.stat().st_mode & 0o777 == 0o600
    assert "one: post.update of Resources.res.Metadata" in (guest.root / "var/log/cfn-hup.log").read_text()


def test_f088_a_failed_action_runs_again_until_it_succeeds_or_the_limit_is_hit(guest, listener, capfd):
    listener.answers = [described({"a": 1})]
    guest.hook("one", action=f"echo try >>{guest.log}; [ -e {guest.root}/may ]")
    assert [hup.main([]), hup.main([])] == [1, 1]
    assert "one: exit code 1; tried again at the next pass" in capfd.readouterr().err
    (guest.root / "may").touch()
    assert [hup.main([]), hup.main([])] == [0, 0]
    assert len(guest.lines()) == 3
    (guest.root / "may").unlink()
    guest.main(listener.url, "attempts=2")
    listener.answers = [described({"a": 2})]
    assert [hup.main([]) for _ in range(4)] == [1, 1, 1, 0]
    assert "one: given up after 2 attempts" in capfd.readouterr().err
    assert len(guest.lines()) == 5


def test_f088_a_change_survives_the_end_of_the_machine_before_its_action_has_ended(guest, listener):
    listener.answers = [described({"a": 1})]
    guest.hook("one", action=f"echo $CFN_NEW_METADATA >>{guest.log}; [ -e {guest.root}/may ] || kill -9 $PPID")
    environment = {**os.environ, "PYTHONPATH": ROOTS}
    killed = subprocess.run([sys.executable, "-m", "calor.cfntools.hup"], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    (guest.root / "may").touch()
    assert [hup.main([]), hup.main([])] == [0, 0]
    assert guest.lines() == ['{"a": 1}'] * 2


def test_f090_no_action_runs_for_old_metadata_while_the_server_is_away(guest, listener, capfd):
    guest.write("var/lib/heat-cfntools/cfn-init-data", '{"old": 1}')
    durable.make_directory(str(guest.root / "var/cache/heat-cfntools"))
    guest.write("var/cache/heat-cfntools/last_metadata", '{"older": 1}')
    for answer in ("close", 503, (403, b"<E><Error><Code>AccessDenied</Code><Message>no</Message></Error></E>")):
        listener.answers = [answer]
        assert hup.main([]) == 1
    assert guest.lines() == []
    assert "AccessDenied: no" in capfd.readouterr().err


def refusal(code):
    return (400, f"<E><Error><Code>{code}</Code><Message>not now</Message></Error></E>".encode())


@pytest.mark.parametrize("code", ["RequestExpired", "RequestLimitExceeded", "IncompleteSignature"])
def test_f090_a_resource_is_gone_only_where_the_api_says_so(guest, listener, capfd, code):
    listener.answers = [described({"a": 1})]
    assert hup.main([]) == 0
    listener.answers = [refusal(code)]
    assert hup.main([]) == 1
    assert f"the CloudFormation API answered 400: {code}: not now" in capfd.readouterr().err
    assert len(guest.lines()) == 1, "a clock that is wrong removes nothing"
    listener.answers = [refusal("InvalidParameterValue")]
    assert hup.main([]) == 0
    assert guest.lines()[1:] == ['one {"a": 1} ']


def test_metadata_of_any_size_is_acted_on(guest, listener):
    """What is too long for an environment is not in it."""
    guest.hook("one", action=f"echo ${{#CFN_OLD_METADATA}} ${{#CFN_NEW_METADATA}} >>{guest.log}")
    for size in (1000, 200_000, 1001):
        listener.answers = [described({"a": "x" * (size - 9)})]
        assert hup.main([]) == 0
    assert guest.lines() == ["0 1000", "1000 0", "0 1001"]


def test_a_new_hook_begins_from_what_cfn_init_has_applied(guest, listener):
    durable.make_directory(str(guest.root / "var/cache/heat-cfntools"))
    guest.write("var/cache/heat-cfntools/last_metadata_res", '{"a": 1}')
    guest.hook("one", triggers="post.update")
    listener.answers = [described({"a": 2})]
    assert [hup.main([]), hup.main([])] == [0, 0]
    assert guest.lines() == ['one {"a": 1} {"a": 2}']
    guest.hook("two", triggers="post.update")
    guest.hook("three", triggers="post.add")
    assert [hup.main([]), hup.main([])] == [0, 0]
    assert guest.lines()[1:] == ['three  {"a": 2}']


def test_paths_choose_what_is_watched(guest, listener):
    guest.hook("key", path="Resources.res.Metadata.AWS::CloudFormation::Init.config", triggers="post.update")
    guest.hook(
        "bare", path="Resources.res", triggers="post.update", action=f"echo bare $CFN_NEW_LAST_UPDATED >>{guest.log}"
    )
    action = f"echo id $CFN_OLD_PHYSICAL_RESOURCE_ID $CFN_NEW_PHYSICAL_RESOURCE_ID >>{guest.log}"
    guest.hook("one", path="Resources.res.PhysicalResourceId", triggers="post.update", action=action)
    init = {"AWS::CloudFormation::Init": {"config": {"files": {}}}}
    listener.answers = [described({**init, "x": 1})]
    assert hup.main([]) == 0
    listener.answers = [described({**init, "x": 2}, physical="p-2", updated="later")]
    assert hup.main([]) == 0
    assert sorted(guest.lines()) == ["bare later", "id p-1 p-2"]
    init["AWS::CloudFormation::Init"]["config"] = {"groups": {"g": {}}}
    listener.answers = [described({**init, "x": 2}, physical="p-2", updated="later still", status="UPDATE_IN_PROGRESS")]
    assert hup.main([]) == 0
    assert len(guest.lines()) == 2, "a resource in the middle of an operation is left for the next pass"
    listener.answers = [described({**init, "x": 2}, physical="p-2", updated="later still", status="UPDATE_COMPLETE")]
    assert hup.main([]) == 0
    assert len(guest.lines()) == 4


def test_a_service_that_has_stopped_is_started_and_its_hook_runs(guest, listener, tmp_path, monkeypatch):
    tool = tmp_path / "bin/service"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$@" >>{guest.log}\n[ "$2" != status ] || [ -e {tmp_path}/up ]\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setattr("calor.cfntools.sections.init_systems.BOOTED", "/nowhere")
    guest.hook("one", triggers="service.restarted", action=f"echo restarted >>{guest.log}; touch {tmp_path}/up")
    services = {"sysvinit": {"web": {"ensureRunning": "true"}, "other": {"enabled": True}}}
    listener.answers = [described({"AWS::CloudFormation::Init": {"config": {"services": services}}})]
    assert [hup.main([]), hup.main([])] == [0, 0]
    assert guest.lines() == ["web status", "web start", "restarted", "web status"]


@pytest.mark.root
def test_an_action_runs_as_the_user_that_is_named(guest, listener, tmp_path, capfd):
    listener.answers = [described({"a": 1})]
    guest.hook("one", action="id -un; echo $HOME\nrunas=nobody")
    assert hup.main([]) == 0
    assert "nobody\n/nonexistent\n" in capfd.readouterr().out
    guest.hook("two", action="true\nrunas=nosuch")
    assert hup.main([]) == 1
    assert "two: there is no user nosuch" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        ({"triggers": "on.command"}, "on.command needs SQS"),
        ({"triggers": "post.change"}, "unknown trigger post.change; known: post.add"),
        ({"path": "Outputs.x"}, "path Outputs.x is not Resources.NAME"),
        ({"action": " "}, "[one] has no action"),
    ],
)
def test_a_hook_that_cannot_work_is_named(guest, capfd, hook, message):
    guest.hook("one", **hook)
    assert hup.main([]) == 1
    assert message in capfd.readouterr().err


def test_a_key_that_has_no_effect_is_warned_of(guest, listener, capfd):
    listener.answers = [described({"a": 1})]
    guest.main(listener.url, "region=nova", "role=reader", "multi-threaded=false", "intervall=1")
    guest.hook("one", action="true\nrun_as=nobody")
    assert hup.main([]) == 0
    assert capfd.readouterr().err.splitlines() == [
        f"cfn-hup: {guest.root}/etc/cfn/cfn-hup.conf: [main]: key intervall is not known and has no effect",
        f"cfn-hup: {guest.root}/etc/cfn/hooks.d/one.conf: [one]: key run_as is not known and has no effect",
    ]


def test_what_is_missing_is_named(guest, listener, capfd, tmp_path):
    guest.write("etc/cfn/hooks.d/one.conf.bak", "[broken")
    (guest.root / "etc/cfn/hooks.d/one.conf").unlink()
    assert hup.main([]) == 1
    assert "there are no hooks in" in capfd.readouterr().err
    guest.write("etc/cfn/cfn-hup.conf", "[main]\n")
    assert hup.main([]) == 1
    assert "[main] has no stack" in capfd.readouterr().err
    (guest.root / "etc/cfn/cfn-hup.conf").unlink()
    assert hup.main([]) == 1
    assert "there is no main configuration" in capfd.readouterr().err


def test_aws_way_of_naming_the_directory(guest, listener):
    listener.answers = [described({"a": 1})]
    guest.write("elsewhere/cfn-hup.conf", (guest.root / "etc/cfn/cfn-hup.conf").read_text())
    guest.write("elsewhere/hooks.conf", f"[x]\ntriggers=post.add\npath=Resources.res\naction=echo x >>{guest.log}\n")
    assert hup.main(["-c", str(guest.root / "elsewhere")]) == 0
    assert guest.lines() == ["x"]
    guest.write("hooks/y", f"[y]\ntriggers=post.add\npath=Resources.res.Metadata\naction=echo y >>{guest.log}\n")
    assert hup.main(["--config", str(guest.root / "hooks")]) == 0
    assert guest.lines() == ["x", "y"]


def test_percent_signs_are_doubled_as_for_heats_and_awss_or_not(guest, listener):
    listener.answers = [described({"a": 1})]
    guest.hook("one", action=f"printf '%%s\\n' doubled >>{guest.log}")
    guest.hook("two", action=f"printf '%s\\n' plain >>{guest.log}")
    guest.hook("three", action=f"printf '%%s\\n' %(triggers)s >>{guest.log}", triggers="post.add")
    assert hup.main([]) == 0
    assert guest.lines() == ["doubled", "post.add", "plain"]


@pytest.mark.slow
def test_the_daemon_passes_until_it_is_told_to_stop(guest, listener):
    listener.answers = [described({"a": 1})]
    environment = {**os.environ, "PYTHONPATH": ROOTS}
    running = subprocess.Popen([sys.executable, "-m", "calor.cfntools.hup", "--daemon"], env=environment)
    deadline = time.monotonic() + 60
    while not guest.lines() and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGTERM)
    assert running.wait(60) == 0
    assert len(guest.lines()) == 1
