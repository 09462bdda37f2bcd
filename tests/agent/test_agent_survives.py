"""Kills, reboots, damaged files, outages: a hook is started at most once, its result is reported exactly once."""

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest


def test_f054_killed_agent_in_mid_script_loses_nothing(server, guest, deployment, eventually):
    count = guest.root / "count"
    server.deploy(deployment("k", f"#!/bin/sh\necho x >>{count}; sleep 1.5; echo end; exit 4\n"))
    guest.start()
    eventually(lambda: count.exists())
    guest.kill()
    time.sleep(0.2)
    guest.start()
    done = server.result("run-k")
    assert (done["outcome"], done["outputs"]["deploy_status_code"]) == ("finished", 4)
    assert done["outputs"]["deploy_stdout"] == "end\n"
    assert count.read_text() == "x\n"


def test_sigterm_stops_the_agent_at_once_and_leaves_the_hook(server, guest, deployment, eventually):
    go = guest.root / "go"
    server.deploy(deployment("t", f"#!/bin/sh\nwhile [ ! -e {go} ]; do sleep 0.05; done; echo end\n"))
    guest.start()
    eventually(lambda: list(guest.state.glob("runs/run-t/attempt-1/hook")))
    begun = time.monotonic()
    guest.kill(signal.SIGTERM)
    assert time.monotonic() - begun < 10, "it does not wait for its hook"
    go.touch()
    eventually(lambda: list(guest.state.glob("runs/run-t/attempt-1/result.json")))
    assert server.results == []
    guest.start()
    assert server.result("run-t")["outputs"]["deploy_stdout"] == "end\n"


def test_an_idle_agent_stops_at_once(server, guest, eventually):
    for _ in range(5):
        guest.start()
        eventually(
            lambda: guest.process is not None and len(list(Path(f"/proc/{guest.process.pid}/task").iterdir())) >= 5
        )
        begun = time.monotonic()
        process = guest.process
        guest.kill(signal.SIGTERM)
        assert process.returncode == 0
        assert time.monotonic() - begun < 2


def test_f054_reboot_in_mid_script_is_reported_interrupted_at_once(server, guest, deployment, eventually):
    count = guest.root / "count"
    server.deploy(deployment("r", f"#!/bin/sh\necho x >>{count}; echo half done; sleep 30\n"))
    guest.start()
    eventually(lambda: count.exists() and (guest.state / "runs/run-r/attempt-1/hook").exists())
    guest.reboot()
    guest.start()
    done = server.result("run-r", 5)
    assert done["outcome"] == "interrupted"
    assert "the instance was rebooted" in done["reason"]
    assert "half done" in done["reason"]
    assert done["outputs"]["deploy_status_code"] == -1
    time.sleep(0.5)
    assert count.read_text() == "x\n"


def test_f054_with_retries_an_interrupted_run_is_run_again(server, guest, deployment, eventually):
    count = guest.root / "count"
    first_hangs = f"#!/bin/sh\necho x >>{count}\n[ $(wc -l <{count}) -gt 1 ] || sleep 61\n"
    server.deploy(deployment("r", first_hangs, calor={"retries": 1}))
    guest.start()
    eventually(lambda: count.exists() and (guest.state / "runs/run-r/attempt-1/hook").exists())
    guest.reboot()
    guest.start()
    assert server.result("run-r")["outcome"] == "finished"
    assert count.read_text() == "x\nx\n"
    assert len(server.results) == 1


def test_a_killed_supervisor_does_not_leave_its_hook_running(server, guest, deployment, eventually):
    server.deploy(deployment("o", "#!/bin/sh\nsleep 61\n"))
    guest.start()
    eventually(lambda: list(guest.state.glob("runs/run-o/attempt-1/hook")))
    supervisor = int((guest.state / "runs/run-o/attempt-1/started").read_text().split()[0])
    hook = int((guest.state / "runs/run-o/attempt-1/hook").read_text().split()[0])
    os.kill(supervisor, signal.SIGKILL)
    assert server.result("run-o", 5)["outcome"] == "interrupted"
    eventually(lambda: not Path(f"/proc/{hook}").exists() or " Z " in Path(f"/proc/{hook}/stat").read_text())


def test_f056_nothing_runs_again_after_a_reboot(server, guest, deployment):
    count = guest.root / "count"
    server.deploy(deployment("c", f"#!/bin/sh\necho x >>{count}\n"))
    guest.start()
    server.result("run-c")
    guest.reboot()
    server.deploy(deployment("next", "true"))
    guest.start()
    server.result("run-next")
    assert count.read_text() == "x\n"
    assert list(dict.fromkeys(one["run_id"] for one in server.results)) == ["run-c", "run-next"]


@pytest.mark.slow
def test_f054_twenty_kills_at_random_moments_run_and_report_each_once(server, guest, deployment):
    chance = random.Random(7)
    log = guest.root / "log"
    names = [f"{n:02d}" for n in range(8)]
    server.deploy(*(deployment(n, f"#!/bin/sh\necho {n} >>{log}; sleep 0.3; printf {n}\n") for n in names))
    for _ in range(20):
        guest.start()
        time.sleep(chance.uniform(0.0, 0.6))
        guest.kill()
    guest.start()
    for name in names:
        done = server.result(f"run-{name}", 30)
        assert (done["outcome"], done["outputs"]["deploy_stdout"]) == ("finished", name)
    assert sorted(log.read_text().split()) == names
    by_run = {one["run_id"]: one for one in server.results}
    assert all(one == by_run[one["run_id"]] for one in server.results)


@pytest.mark.slow
def test_f054_twelve_power_cuts_at_random_moments_run_each_once(server, guest, deployment):
    chance = random.Random(11)
    log = guest.root / "log"
    names = [f"{n:02d}" for n in range(8)]
    server.deploy(*(deployment(n, f"#!/bin/sh\necho {n} >>{log}; sleep 0.2; printf {n}\n") for n in names))
    for _ in range(12):
        guest.start()
        time.sleep(chance.uniform(0.0, 0.6))
        guest.reboot()
    guest.start()
    outcomes = [server.result(f"run-{name}", 30)["outcome"] for name in names]
    assert set(outcomes) <= {"finished", "interrupted"}
    ran = log.read_text().split()
    assert len(ran) == len(set(ran))


def test_f038_503_for_a_while_delays_the_result_and_loses_nothing(server, guest, deployment):
    server.faults["results"] = 503
    server.deploy(deployment("s", "echo x"), deployment("u", "echo y"))
    guest.start()
    time.sleep(1.5)
    assert server.results == []
    del server.faults["results"]
    server.result("run-s")
    server.result("run-u")
    time.sleep(0.5)
    assert sorted(one["run_id"] for one in server.results) == ["run-s", "run-u"]
    assert list((guest.state / "outbox").glob("*.json")) == []


def test_f040_a_refused_result_is_logged_and_given_up(server, guest, deployment, eventually):
    server.faults["results"] = 404
    server.deploy(deployment("g", "true"))
    guest.start()
    eventually(lambda: "given up" in guest.console())
    tries = [one for one in server.requests if one[1].endswith("/results")]
    assert len(tries) == 1
    assert "answered 404: broken on purpose" in guest.console()


def test_a_lost_answer_repeats_the_same_run_id(server, guest, deployment, eventually):
    answers = iter(["close"])
    server.faults["results"] = lambda: next(answers, None)
    server.deploy(deployment("l", "echo once"))
    guest.start()
    server.result("run-l")
    sent = [json.loads(one[3])["run_id"] for one in server.requests if one[1].endswith("/results")]
    assert sent == ["run-l", "run-l"]


def test_proxy_time_outs_are_empty_polls_and_401_mints_anew(server, guest, deployment, eventually):
    answers = iter([502, 504, 503])
    server.faults["deployments"] = lambda: next(answers, None)
    guest.start()
    eventually(lambda: sum("/deployments" in one[1] for one in server.requests) > 3)
    server.tokens.clear()
    server.deploy(deployment("a", "true"))
    server.result("run-a")
    assert sum(one[1].endswith("/token") for one in server.requests) >= 2
    assert sum(one[1].endswith("/enrol") for one in server.requests) == 1


def test_f059_a_server_that_never_answers_costs_one_wait_and_holds_no_result(server, guest, deployment, eventually):
    guest.configure(server=server.url, instance_id="i-1", bootstrap_token="boot", wait=1)
    server.deploy(deployment("a", "#!/bin/sh\nsleep 1\n"))
    guest.start()
    eventually(lambda: list(guest.state.glob("runs/run-a/attempt-1/hook")))
    server.faults["deployments"] = "hang"
    server.result("run-a", 5)  # delivered while the poll hangs
    del server.faults["deployments"]
    server.deploy(deployment("b", "true"))
    server.result("run-b", 1 + 5 + 5)


def test_enrolment_makes_a_private_secret_and_survives_a_restart(server, guest, deployment):
    server.deploy(deployment("a", "true"))
    guest.start()
    server.result("run-a")
    assert (guest.state / "secret").stat().st_mode & 0o777 == 0o600
    assert guest.state.stat().st_mode & 0o777 == 0o700
    assert len(json.loads((guest.state / "secret").read_text())["secret"]) == 64
    guest.kill()
    server.deploy(deployment("b", "true"))
    guest.start()
    server.result("run-b")
    assert sum(one[1].endswith("/enrol") for one in server.requests) == 1


def test_another_enrolled_secret_is_reported_clearly(server, guest, eventually):
    server.enrolled = "f" * 64
    guest.start()
    eventually(lambda: "another secret is enrolled for this instance" in guest.console())


def test_two_agents_do_not_share_a_state_directory(server, guest, deployment):
    server.deploy(deployment("a", "true"))
    guest.start()
    server.result("run-a")
    second = guest.run("once")
    assert second.returncode == 2
    assert "another agent works on" in second.stderr
