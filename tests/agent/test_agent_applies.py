"""Deployments handed out by a real server are applied by a real agent, and what came out arrives."""

import json
import time


def test_script_gets_inputs_and_hands_back_outputs(server, guest, deployment):
    config = '#!/bin/sh\necho "hello $who"\necho oops >&2\nprintf %s "$numbers" > $heat_outputs_path.result\n'
    server.deploy(deployment("a", config, inputs={"who": "wörld", "numbers": [1, 2]}, outputs=["result", "absent"]))
    guest.start()
    done = server.result("run-a")
    assert done["outcome"] == "finished"
    assert done["outputs"] == {
        "deploy_stdout": "hello wörld\n",
        "deploy_stderr": "oops\n",
        "deploy_status_code": 0,
        "result": "[1, 2]",
    }
    assert (done["deployment_id"], done["config_id"], done["reason"]) == ("d-a", "config-a", "")


def test_deployments_run_one_after_the_other_in_the_order_given(server, guest, deployment):
    log = guest.root / "order"
    names = ["b", "a", "c"]
    server.deploy(*(deployment(n, f"#!/bin/sh\necho {n}+ >>{log}; sleep 0.1; echo {n}- >>{log}\n") for n in names))
    guest.start()
    server.result("run-c")
    assert log.read_text().split() == ["b+", "b-", "a+", "a-", "c+", "c-"]


def test_failing_script_is_reported_with_its_exit_code_and_last_lines(server, guest, deployment):
    server.deploy(deployment("f", "#!/bin/sh\necho no such luck >&2\nexit 3\n"))
    guest.start()
    done = server.result("run-f")
    assert done["outputs"]["deploy_status_code"] == 3
    assert done["reason"] == "script hook: exit code 3: no such luck"


def test_script_without_interpreter_line_runs_and_f070_an_empty_one_is_nothing_to_do(server, guest, deployment):
    server.deploy(deployment("plain", "echo plain"), deployment("empty", ""), deployment("none", None))
    guest.start()
    assert server.result("run-plain")["outputs"]["deploy_stdout"] == "plain\n"
    assert server.result("run-empty")["outputs"]["deploy_status_code"] == 0
    assert server.result("run-none")["outputs"]["deploy_status_code"] == 0


def test_missing_interpreter_is_a_failure_at_once(server, guest, deployment):
    server.deploy(deployment("x", "#!/no/such/shell\n"))
    guest.start()
    done = server.result("run-x")
    assert done["outputs"]["deploy_status_code"] == 126
    assert "cannot be started" in done["reason"]


def test_f053_missing_hook_fails_at_once_and_names_the_installed_ones(server, guest, deployment):
    hooks = guest.root / "var/lib/heat-config/hooks"
    hooks.mkdir(parents=True)
    (hooks / "mine").write_text("#!/bin/sh\n")
    (hooks / "mine").chmod(0o755)
    server.deploy(deployment("n", "", group="nosuch"))
    begun = time.monotonic()
    guest.start()
    done = server.result("run-n")
    assert time.monotonic() - begun < 5
    known = (
        "script, ansible, cfn-init, apply-config, os-apply-config, atomic, chef, docker-cmd, docker-compose, hiera, "
        "json-file, kubelet, puppet, salt"
    )
    assert done["reason"] == f"no hook for group nosuch; installed: {known}, mine"
    assert done["outputs"]["deploy_status_code"] != 0


def test_an_option_that_is_no_number_fails_the_run_before_it_begins(server, guest, deployment, tmp_path):
    server.deploy(deployment("o", f"touch {tmp_path}/ran", calor={"timeout": "10m"}))
    guest.start()
    assert server.result("run-o")["reason"] == "option timeout is no number that makes sense: '10m' of o"
    assert not (tmp_path / "ran").exists()


def test_what_has_no_group_is_left_alone(server, guest, deployment):
    server.deploy(deployment("u", {"a": 1}, group="Heat::Ungrouped"))
    server.deploy(deployment("s", "true"))
    guest.start()
    server.result("run-s")
    assert [one["run_id"] for one in server.results] == ["run-s"]


def test_executable_hook_gets_json_and_answers_json(server, guest, deployment):
    hooks = guest.root / "usr/libexec/heat-config/hooks"
    hooks.mkdir(parents=True)
    hook = hooks / "echo-back"
    hook.write_text(
        "#!/usr/bin/env python3\nimport json, sys\nd = json.load(sys.stdin)\n"
        "json.dump({'got': d['config'], 'deploy_stdout': d['group'], 'deploy_status_code': 0}, sys.stdout)\n"
    )
    hook.chmod(0o755)
    server.deploy(deployment("e", {"k": "ü"}, group="echo-back"))
    guest.start()
    outputs = server.result("run-e")["outputs"]
    assert outputs == {"got": {"k": "ü"}, "deploy_stdout": "echo-back", "deploy_status_code": 0}


def test_component_runs_the_config_of_the_action_and_f071_nothing_for_another(server, guest, deployment):
    config = {
        "configs": [
            {"actions": ["CREATE"], "tool": "script", "config": "#!/bin/sh\necho create"},
            {"actions": ["UPDATE", "DELETE"], "tool": "script", "config": "#!/bin/sh\necho other"},
        ]
    }
    for action in ("CREATE", "DELETE", "SUSPEND"):
        server.deploy(deployment(action, json.dumps(config), group="component", inputs={"deploy_action": action}))
    guest.start()
    assert server.result("run-CREATE")["outputs"]["deploy_stdout"] == "create\n"
    assert server.result("run-DELETE")["outputs"]["deploy_stdout"] == "other\n"
    assert server.result("run-SUSPEND")["outputs"]["deploy_status_code"] == 0


def test_cfn_init_hook_writes_files_and_runs_commands(server, guest, deployment):
    target = guest.root / "made"
    config = {
        "config": {"files": {str(target): {"content": "by cfn-init"}}, "commands": {"1": {"command": "echo ran"}}}
    }
    server.deploy(deployment("c", config, group="cfn-init"))
    guest.start()
    done = server.result("run-c")
    assert done["outputs"]["deploy_status_code"] == 0, done
    assert target.read_text() == "by cfn-init"


def test_f061_a_chain_of_ten_costs_seconds_not_polling_intervals(server, guest, deployment):
    guest.start()
    begun = time.monotonic()
    for number in range(10):
        server.deploy(deployment(str(number), "#!/bin/sh\nsleep 0.1\n"))
        server.result(f"run-{number}")
    assert time.monotonic() - begun < 10 * 0.1 + 10 * 1


def test_f063_a_failing_script_runs_one_and_retries_times(server, guest, deployment):
    count = guest.root / "count"
    server.deploy(deployment("r", f"#!/bin/sh\necho x >>{count}\nexit 1\n", calor={"retries": 2}))
    guest.start()
    done = server.result("run-r")
    time.sleep(0.5)
    assert count.read_text() == "x\n" * 3
    assert len(server.results) == 1
    assert done["outputs"]["deploy_status_code"] == 1


def test_a_run_that_exceeds_its_timeout_is_ended_and_reported(server, guest, deployment):
    server.deploy(deployment("t", "#!/bin/sh\necho begun\nsleep 60\n", calor={"timeout": 4}))
    guest.start()
    done = server.result("run-t")
    assert done["outcome"] == "interrupted"
    assert "4 seconds" in done["reason"]
    assert "begun" in done["reason"]


def test_a_cancelled_run_is_ended_and_reported_interrupted(server, guest, deployment, eventually):
    one = deployment("c", "#!/bin/sh\nsleep 60\n", calor={"retries": 3})
    server.deploy(one)
    guest.start()
    eventually(lambda: list(guest.state.glob("runs/run-c/attempt-1/hook")))
    server.replace(one, cancelled=["run-c"])
    assert server.result("run-c")["outcome"] == "interrupted"


def test_f041_huge_output_arrives_with_head_tail_and_its_size(server, guest, deployment):
    body = "#!/bin/sh\necho first\nhead -c {} /dev/zero | tr '\\0' x\necho; echo last\n"
    for size in (1_000_000, 5_000_000, 50_000_000):
        server.deploy(deployment(str(size), body.format(size)))
    guest.start()
    for size in (1_000_000, 5_000_000, 50_000_000):
        done = server.result(f"run-{size}", 60)
        text = done["outputs"]["deploy_stdout"]
        assert text.startswith("first\n")
        assert text.endswith("last\n")
        assert f"of {size + 12} bytes left out" in text
        assert len(json.dumps(done["outputs"])) < 960_000


def test_output_of_any_bytes_arrives(server, guest, deployment):
    server.deploy(deployment("b", "#!/bin/sh\nprintf 'a\\377\\000\\033[31mb'\n"))
    guest.start()
    assert server.result("run-b")["outputs"]["deploy_stdout"] == "a\ufffd\ufffd\x1b[31mb"


def test_f077_output_is_seen_while_the_hook_runs(server, guest, deployment, eventually, tmp_path):
    server.deploy(deployment("s", f"#!/bin/sh\necho line 1; until [ -e {tmp_path}/seen ]; do sleep 0.1; done\n"))
    guest.start()
    eventually(lambda: any(b["running"] and "line 1" in b["running"][0]["tail"] for b in list(server.heartbeats)))
    beat = next(b for b in server.heartbeats if b["running"])
    assert beat["state"] == "running"
    assert (beat["running"][0]["run_id"], beat["running"][0]["deployment_id"]) == ("run-s", "d-s")
    assert beat["running"][0]["step"] == "s (step 1 of 1)"
    (tmp_path / "seen").touch()
    assert server.result("run-s")["outcome"] == "finished"


def test_f050_heartbeats_tell_booted_fetched_running_idle(server, guest, deployment, eventually):
    guest.start()
    eventually(lambda: any(b["state"] == "booted" for b in list(server.heartbeats)))
    server.deploy(deployment("a", "#!/bin/sh\nsleep 0.5\n"))
    server.result("run-a")
    eventually(lambda: server.heartbeats[-1]["state"] == "idle")
    states = [b["state"] for b in server.heartbeats]
    assert states.index("booted") < states.index("running") < len(states) - 1
    assert {"boot_id": "boot-1", "agent": "0.1.0", "protocol": 1}.items() <= server.heartbeats[0].items()


def test_background_child_of_a_script_does_not_hold_the_result(server, guest, deployment):
    server.deploy(deployment("d", "#!/bin/sh\nsleep 5 &\necho done\n"))
    begun = time.monotonic()
    guest.start()
    assert server.result("run-d")["outputs"]["deploy_stdout"] == "done\n"
    assert time.monotonic() - begun < 4
