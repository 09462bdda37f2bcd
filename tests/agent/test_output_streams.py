"""What hooks print arrives while they run; cancelled ones end; cloud-init's verdict is told."""

import json
import time
from pathlib import Path
from typing import Any

GATE = "while [ ! -e {gate} ]; do sleep 0.05; done"


def test_f190_output_arrives_while_the_hook_runs_and_steps_are_named(
    server: Any, guest: Any, deployment: Any, eventually: Any
) -> None:
    gate = guest.root / "gate"
    script = (
        '#!/bin/sh\necho first; echo oops >&2; echo "2/3 installing" > "$CALOR_STEP_FILE"\n'
        + GATE.format(gate=gate)
        + "\necho last\n"
    )
    server.deploy(deployment("s", script))
    guest.start()
    eventually(lambda: server.printed("run-s") == b"first\n" and server.printed("run-s", "stderr") == b"oops\n")
    eventually(lambda: any("2/3 installing" in str(beat["running"]) for beat in server.heartbeats))
    beat = next(beat for beat in reversed(server.heartbeats) if beat["running"])
    assert beat["running"][0]["doing"] == "2/3 installing"
    assert beat["interval"] < 10
    assert server.results == []
    gate.touch()
    server.result("run-s")
    assert server.printed("run-s") == b"first\nlast\n"  # all of it before the result


def test_output_of_any_bytes_arrives_once_over_lost_answers_and_a_killed_agent(
    server: Any, guest: Any, deployment: Any, eventually: Any
) -> None:
    gate = guest.root / "gate"
    script = "#!/bin/sh\nprintf 'a\\377\\303'\n" + GATE.format(gate=gate) + "\nprintf '\\274z\\n'\n"
    faults = iter(["close", 500])
    server.faults["output"] = lambda: next(faults, None)
    server.deploy(deployment("b", script))
    guest.start()
    eventually(lambda: server.printed("run-b").startswith(b"a\xff"))
    guest.kill()
    gate.touch()
    guest.start()
    server.result("run-b")
    assert server.printed("run-b") == b"a\xff\xc3\xbcz\n"


def test_of_output_beyond_all_reading_only_the_newest_is_sent(server: Any, guest: Any, deployment: Any) -> None:
    server.deploy(deployment("much", "#!/bin/sh\nyes 0123456789abcdef | head -c 20000000\necho; echo the end\n"))
    guest.start()
    server.result("run-much", timeout=60)
    printed = server.printed("run-much")
    assert printed.endswith(b"the end\n")
    assert sum(len(one["data"]) for one in server.pieces) < 5_000_000


def test_a_server_that_takes_no_output_gets_results_as_ever(server: Any, guest: Any, deployment: Any) -> None:
    server.faults["output"] = 404
    server.deploy(deployment("old", "echo hello"))
    guest.start()
    assert server.result("run-old")["outputs"]["deploy_stdout"] == "hello\n"
    server.deploy(deployment("older", "echo hello"))
    server.result("run-older")
    assert len([one for one in server.requests if one[1].endswith("/output")]) == 1


def test_a_cancelled_run_ends_with_all_its_children_and_one_that_waits_never_begins(
    server: Any, guest: Any, deployment: Any, eventually: Any
) -> None:
    pids = guest.root / "pids"
    child = f"(trap '' TERM; setsid sh -c 'echo $$ >> {pids}; exec sleep 300') &"
    first = deployment("first", f"#!/bin/sh\ntrap 'echo ending' TERM\n{child}\necho $$ >> {pids}\nsleep 300 & wait\n")
    second = deployment("second", f"#!/bin/sh\ntouch {guest.root}/begun\n")
    server.deploy(first, second)
    guest.start()
    eventually(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    server.cancelled = ["run-first", "run-second"]  # no poll is answered: a heartbeat's answer tells it
    done = server.result("run-first", timeout=30)
    assert done["outcome"] == "interrupted"
    assert server.result("run-second")["outcome"] == "interrupted"
    assert not (guest.root / "begun").exists()
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids.read_text().split()))


def test_f097_the_verdict_of_cloud_init_is_told_where_the_server_asks(server: Any, guest: Any, eventually: Any) -> None:
    guest.configure(server=server.url, instance_id="i-1", bootstrap_token="boot", report_cloud_init=True)
    run = guest.root / "run/cloud-init"
    run.mkdir(parents=True)
    log = guest.root / "var/log/cloud-init-output.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("installing\nno such package\n")
    guest.start()
    eventually(lambda: server.heartbeats)
    error = "('scripts-user', RuntimeError('Runparts: 1 failures (part-001) in 1 attempted commands'))"
    (run / "status.json").write_text(json.dumps({"v1": {"modules-final": {"errors": [error]}, "stage": None}}))
    assert server.verdicts == []
    (run / "result.json").write_text(json.dumps({"v1": {"datasource": "x", "errors": [error]}}))
    eventually(lambda: server.verdicts)
    assert server.verdicts == [{"status": "error", "errors": [error], "log": "installing\nno such package\n"}]


def test_f097_a_reboot_that_cloud_init_asked_for_comes_before_the_verdict(server: Any, guest: Any) -> None:
    guest.configure(server=server.url, instance_id="i-1", bootstrap_token="boot", report_cloud_init=True)
    (guest.root / "run/cloud-init").mkdir(parents=True)
    (guest.root / "run/cloud-init/result.json").write_text('{"v1": {"errors": []}}')
    (guest.root / "run/systemd/shutdown").mkdir(parents=True)
    (guest.root / "run/systemd/shutdown/scheduled").write_text("MODE=reboot\n")
    guest.start()
    time.sleep(4.5)
    assert server.verdicts == []
