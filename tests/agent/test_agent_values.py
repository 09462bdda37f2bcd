"""The parts of the agent that need no server: what is read, chosen, shortened, waited."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calor.agent import attempts, deployments, hooks, outputs, places, runs, settings, withdrawal
from calor.agent.backoff import Backoff
from calor.agent.hooks import ansible_options, contract
from calor.cfntools import durable


def test_a_deployment_without_our_part_is_known_by_its_config():
    found = deployments.parse({"id": "c1", "inputs": [{"name": "a", "value": 1}], "outputs": None})
    assert (found.run_id, found.group, found.retries, found.inputs) == ("c1", "Heat::Ungrouped", 0, {"a": 1})


def test_inputs_of_type_string_are_text_and_others_stay_what_they_are():
    given = [("n", "String", 8080), ("b", "String", True), ("none", "String", None), ("l", "String", ["a"])]
    given += [("number", "Number", 5), ("json", "Json", {"a": None}), ("bool", "Boolean", False)]
    inputs = [{"name": name, "type": kind, "value": value} for name, kind, value in given]
    found = deployments.parse({"id": "c", "inputs": [*inputs, {"name": "untyped", "value": 1}, "odd", None]})
    assert found.inputs == {
        **{"n": "8080", "b": "True", "none": "", "l": ["a"]},
        **{"number": 5, "json": {"a": None}, "bool": False, "untyped": 1},
    }
    assert found.document["inputs"][0] == {"name": "n", "type": "String", "value": "8080"}, (
        "programs are given the same"
    )
    assert deployments.parse({"id": "c", "inputs": {"a": 1}, "outputs": "x", "options": [1]}).inputs == {}


def test_retries_and_timeout_are_what_our_server_says_and_the_options_else():
    options = {"retries": "2", "timeout": 1.5}
    theirs = deployments.parse({"id": "c", "options": options})
    assert (theirs.retries, theirs.timeout, theirs.fault) == (2, 1.5, "")
    ours = deployments.parse({"id": "c", "options": options, "calor": {"retries": 0, "timeout": None}})
    assert (ours.retries, ours.timeout, ours.fault) == (0, None, "")


@pytest.mark.parametrize("value", ["soon", -1, "nan", "inf", [], {}, True])
@pytest.mark.parametrize("name", ["retries", "timeout"])
def test_an_option_that_makes_no_sense_is_named(name, value):
    for document in ({"options": {name: value}}, {"calor": {name: value}}):
        assert deployments.parse({"id": "c", **document}).fault.startswith(f"option {name} is no number")


@given(st.text(min_size=1))
def test_a_run_id_is_always_a_file_name(run_id):
    found = deployments.parse({"id": "c", "calor": {"run_id": run_id}}).run_id
    assert found
    assert "/" not in found
    assert found not in (".", "..")
    assert len(found) <= 100


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_whatever_the_server_sends_is_read_without_a_fault(document):
    for one in deployments.parse_all([document, {"id": "x", **(document if isinstance(document, dict) else {})}]):
        assert isinstance(one, deployments.Deployment)
    for config in (document, {"configs": document}, {"configs": [{"actions": document}]}):
        component = deployments.parse({"id": "x", "group": "component", "config": config})
        assert isinstance(deployments.choose(component), deployments.Chosen)


@pytest.mark.parametrize(
    "config",
    [
        *("not json", "[1]", None, [], ["x"], 5, {"configs": None}, {"configs": ["x", None]}, {"configs": {"a": 1}}),
        {"configs": [{"actions": ["DELETE"]}, {"actions": {"a": "CREATE"}}]},
    ],
)
def test_a_component_without_a_config_for_the_action_chooses_nothing(config):
    one = deployments.parse({"id": "c", "group": "component", "config": config})
    assert deployments.choose(one).group == ""


def test_output_is_kept_whole_up_to_the_limit_and_cut_in_the_middle_beyond(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"x" * 100)
    assert outputs.read_bounded(str(path), 100) == "x" * 100
    path.write_bytes(b"h" * 60 + b"t" * 60)
    text = outputs.read_bounded(str(path), 100)
    assert text == "h" * 50 + "\n[... calor: 20 of 120 bytes left out ...]\n" + "t" * 50
    assert outputs.read_bounded(str(tmp_path / "absent")) == ""


def test_f041_outputs_fit_a_signal_even_when_json_makes_them_larger(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"\x01\xff" * 2_000_000)
    found = outputs.standard(str(path), str(path), 0, {"declared": "d" * 1000})
    assert len(json.dumps(found, ensure_ascii=False).encode()) <= outputs.LIMIT
    assert found["declared"] == "d" * 1000


def test_tail_begins_with_a_whole_line_and_has_no_colour(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"first line\n\x1b[31msecond\x1b[0m\n")
    assert outputs.tail(str(path), 20) == "second\n"


def test_backoff_grows_to_its_limit_and_falls_back():
    backoff = Backoff(1.0, 5.0)
    waits = [backoff.next() for _ in range(5)]
    assert all(0.75 * want <= wait <= want for wait, want in zip(waits, [1, 2, 4, 5, 5], strict=True))
    backoff.limit(3.0)
    assert backoff.next() <= 3.0
    backoff.reset()
    assert backoff.next() <= 1.0


def test_settings_come_from_file_and_environment(tmp_path):
    path = tmp_path / "agent.json"
    path.write_text('{"server": "http://s/", "instance_id": "i", "wait": 5, "newer": 1, "ca_certificate": null}')
    found = settings.load(str(path), {"CALOR_INSTANCE_ID": "j"})
    assert (found.server, found.instance_id, found.wait, found.is_native) == ("http://s", "j", 5.0, True)
    assert not settings.load(str(tmp_path / "absent"), {}).is_native
    with pytest.raises(settings.SettingsError, match="wait must be seconds between 0 and 3600"):
        settings.load(str(path), {"CALOR_WAIT": "soon"})


def test_every_place_moves_with_the_root(tmp_path):
    found = places.find({}, str(tmp_path))
    assert found.config == f"{tmp_path}/etc/calor/agent.json"
    assert found.state == f"{tmp_path}/var/lib/calor"
    assert found.hook_directories({"HEAT_CONFIG_HOOKS": "/h"})[0] == "/h"
    assert found.under("/etc/x") == f"{tmp_path}/etc/x"


def test_an_attempt_has_one_start_only(tmp_path):
    attempt = attempts.Attempt(str(tmp_path))
    assert attempt.outcome("boot-1") is None
    handle = attempt.take("boot-1")
    assert handle is not None
    assert attempt.take("boot-1") is None
    assert attempt.is_supervised
    assert attempt.outcome("boot-1") is None
    os.close(handle)
    assert attempt.take("boot-1") is None
    assert not attempt.is_supervised
    found = attempt.outcome("boot-1")
    assert found is not None
    assert found.outcome == attempts.INTERRUPTED


def test_a_file_is_replaced_whole_and_private(tmp_path):
    path = tmp_path / "f"
    durable.write_json(str(path), {"a": 1})
    durable.write_json(str(path), {"a": 2})
    assert durable.read_map(str(path)) == {"a": 2}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["f"]
    path.write_text("[1]")
    assert durable.read_map(str(path)) == {}


def test_old_runs_are_forgotten_but_never_one_the_server_names(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "KEEP", 2)
    known = runs.Runs(str(tmp_path / "runs"))
    for number in range(6):
        run = known.get(f"r{number}")
        run.new_attempt(deployments.parse({"id": f"r{number}"}))
        if number != 1:
            run.mark_reported()
        os.utime(run.directory, (number, number))
    known.prune(["r0"])
    assert [run.run_id for run in known.all()] == ["r0", "r1", "r4", "r5"]


def test_reported_output_is_shortened_on_disk(tmp_path):
    run = runs.Runs(str(tmp_path / "runs")).get("r")
    attempt = run.new_attempt(deployments.parse({"id": "r"}))
    with open(attempt.stdout, "wb") as target:
        target.write(b"x" * (3 * outputs.LIMIT))
    run.shrink()
    assert outputs.LIMIT < os.path.getsize(attempt.stdout) < outputs.LIMIT + 200


def test_the_table_of_hooks_names_each_by_its_group_and_those_that_leave_something():
    found = {group: hooks.built_in(group) for group, _, _ in hooks.HOOKS}
    assert all(hook.group == group for group, hook in found.items())
    assert {group for group, hook in found.items() if hook.leaves_something} == set(withdrawal.GROUPS)


@pytest.mark.parametrize("given", ["hush", '{"a": ', '["hush"]', ["hush"]])
def test_vault_passwords_that_are_no_map_are_refused_and_not_shown(given):
    with pytest.raises(contract.CannotRun, match="must map vault ids") as raised:
        ansible_options.Secrets.of({"ansible_vault_passwords": given})
    assert "hush" not in str(raised.value)
    assert ansible_options.Secrets.of({"ansible_vault_passwords": '{"a": 1}'}).passwords == {"a": "1"}


def test_every_hook_has_a_section_of_the_page():
    page = (Path(__file__).resolve().parents[2] / "docs/guest-agent.md").read_text()
    assert [group for group, _, _ in hooks.HOOKS if f"\n### {group}\n" not in page] == []
