"""How hooks end: with all they started, at their time-out, through a reboot; and what a flood of output costs."""

import json
import os
import time
from pathlib import Path

import pytest

SCATTER = """#!/bin/sh
# children in the same group, in sessions of their own, orphaned, and one that does not heed SIGTERM
sleep 300 &
setsid sleep 301 &
(setsid sh -c 'sleep 302 & wait' &) &
setsid sh -c 'trap "" TERM; while :; do sleep 0.2; done' &
echo scattered
sleep 303
"""


def left(guest) -> list[str]:
    """Command lines of processes that a hook of this guest started and that still are."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            is_ours = f"CALOR_STEP_FILE={guest.state}".encode() in (folder / "environ").read_bytes()
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if is_ours and state not in "ZX":
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def test_a_hook_that_hangs_is_ended_with_all_it_started(server, guest, deployment):
    server.deploy(deployment("h", SCATTER, calor={"timeout": 6.0}))
    guest.start()
    done = server.result("run-h", 60)
    assert done["outcome"] == "interrupted"
    assert "it did not end within its 6 seconds" in done["reason"]
    assert "scattered" in done["reason"]
    assert left(guest) == []


def test_a_cancelled_hook_is_ended_with_all_it_started(server, guest, deployment, eventually):
    one = deployment("c", SCATTER)
    server.deploy(one)
    guest.start()
    eventually(lambda: len(left(guest)) >= 5)
    server.replace(one, cancelled=["run-c"])
    assert server.result("run-c", 60)["outcome"] == "interrupted"
    assert left(guest) == []


def test_what_a_killed_supervisor_left_is_ended_before_it_is_reported(server, guest, deployment, eventually):
    server.deploy(deployment("k", SCATTER))
    guest.start()
    eventually(lambda: len(left(guest)) >= 5)
    os.kill(guest.supervisors()[0], 9)
    assert server.result("run-k", 60)["outcome"] == "interrupted"
    assert left(guest) == []


def test_a_daemon_that_a_script_starts_lives_on_and_holds_nothing(server, guest, deployment):
    script = "#!/bin/sh\nsetsid sh -c 'while :; do echo alive; sleep 0.2; done' &\necho $! > $heat_outputs_path.pid\n"
    server.deploy(deployment("d", script, outputs=["pid"]), deployment("next", "echo next"))
    guest.start()
    done = server.result("run-d", 20)
    assert done["outputs"]["deploy_status_code"] == 0
    server.result("run-next", 20)
    assert left(guest), "the daemon goes on"
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and str(guest.state) in _environment(entry):
            os.kill(int(entry.name), 9)


def _environment(folder: Path) -> str:
    try:
        return (folder / "environ").read_text(errors="replace")
    except OSError:
        return ""


REBOOTS = """#!/bin/sh
echo "boot $CALOR_REBOOTS" >> {log}
[ "$CALOR_REBOOTS" = 2 ] && exit 0
exit 194
"""


def test_a_hook_goes_on_after_the_reboots_it_asks_for(server, guest, deployment, eventually):
    log, asked = guest.root / "log", guest.root / "asked"
    tool = guest.root / "reboot"
    tool.write_text(f"#!/bin/sh\necho x >> {asked}\n")
    tool.chmod(0o755)
    guest.environment["CALOR_REBOOT_COMMAND"] = str(tool)
    server.deploy(deployment("r", REBOOTS.format(log=log)), deployment("later", f"echo later >> {log}"))
    guest.start()
    for number in (1, 2):
        eventually(lambda number=number: asked.exists() and asked.read_text() == "x\n" * number, 30)
        assert not server.results
        guest.reboot()
        guest.start()
    done = server.result("run-r", 30)
    assert (done["outcome"], done["outputs"]["deploy_status_code"]) == ("finished", 0)
    server.result("run-later", 30)
    assert log.read_text() == "boot 0\nboot 1\nboot 2\nlater\n"
    assert [one["run_id"] for one in server.results] == ["run-r", "run-later"]


def test_a_hook_that_reboots_by_itself_goes_on_if_it_said_so(server, guest, deployment, eventually):
    log = guest.root / "log"
    script = (
        f'#!/bin/sh\necho "boot $CALOR_REBOOTS" >> {log}\n'
        '[ "$CALOR_REBOOTS" = 0 ] || exit 0\ntouch "$CALOR_RESUME_FILE"\nsleep 60\n'
    )
    server.deploy(deployment("s", script))
    guest.start()
    eventually(lambda: (guest.state / "runs/run-s/attempt-1/resume").exists())
    guest.reboot()
    guest.start()
    assert server.result("run-s", 30)["outputs"]["deploy_status_code"] == 0
    assert log.read_text() == "boot 0\nboot 1\n"


def test_a_reboot_that_cannot_be_had_is_a_failure_at_once(server, guest, deployment):
    guest.environment["CALOR_REBOOT_COMMAND"] = "/bin/false"
    server.deploy(deployment("r", "#!/bin/sh\nexit 194\n"))
    guest.start()
    done = server.result("run-r")
    assert done["outputs"]["deploy_status_code"] == 194
    assert "/bin/false ended with exit code 1" in done["reason"]


@pytest.mark.slow
def test_f041_fifty_megabytes_of_an_executable_hook_fit_into_64_of_memory(server, guest, deployment, eventually):
    hooks = guest.root / "var/lib/heat-config/hooks"
    hooks.mkdir(parents=True)
    hook = hooks / "chatty"
    hook.write_text(
        "#!/bin/sh\ncat >/dev/null\nprintf '{\"deploy_stdout\": \"first '\nhead -c 50000000 /dev/zero | tr '\\0' x\n"
        'printf \' last", "deploy_stderr": "", "deploy_status_code": 5}\'\nsleep 2\n'
    )
    hook.chmod(0o755)
    script = "#!/bin/sh\necho first\nhead -c 120000000 /dev/zero | tr '\\0' x\necho; echo last\nsleep 2\n"
    server.deploy(deployment("c", "", group="chatty"), deployment("s", script))
    guest.start()
    peaks: dict[str, int] = {}
    for name in ("c", "s"):
        note = guest.state / f"runs/run-{name}/attempt-1/started"
        eventually(note.exists, 60)
        supervisor = int(note.read_text().split()[0])
        while not any(one["run_id"] == f"run-{name}" for one in list(server.results)):
            peaks[name] = max(peaks.get(name, 0), peak(supervisor))
            time.sleep(0.01)
        agent = peak(guest.process.pid)
        assert agent < 64 * 1024, f"the agent took {agent} kB"
    assert max(peaks.values()) < 64 * 1024, peaks
    chatty = server.result("run-c")
    assert chatty["outputs"]["deploy_status_code"] == 5
    assert "of 50000011 bytes left out" in chatty["outputs"]["deploy_stdout"]
    assert chatty["outputs"]["deploy_stdout"].startswith("first xxx")
    flood = server.result("run-s")["outputs"]["deploy_stdout"]
    assert flood.startswith("first\nxxx")
    assert flood.endswith("xxx\nlast\n")
    assert "of 120000012 bytes left out" in flood
    assert len(json.dumps(chatty)) < 960_000


def peak(pid: int) -> int:
    """The most memory that a process ever had, in kB; 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


@pytest.mark.slow
def test_a_flood_does_not_fill_the_disk_while_it_runs(server, guest, deployment, eventually):
    script = "#!/bin/sh\nhead -c 200000000 /dev/zero | tr '\\0' x\nsleep 3\n"
    server.deploy(deployment("f", script))
    guest.start()
    path = guest.state / "runs/run-f/attempt-1/stdout"
    eventually(lambda: path.exists() and path.stat().st_size == 200_000_000, 60)
    eventually(lambda: path.stat().st_blocks * 512 < 40_000_000, 20)
    assert "of 200000000 bytes left out" in server.result("run-f", 60)["outputs"]["deploy_stdout"]


def test_script_with_dos_line_ends_and_any_interpreter(server, guest, deployment):
    server.deploy(
        deployment("dos", "#!/bin/sh\r\necho dos\r\n"),
        deployment(
            "python", "#!/usr/bin/env python3\nimport os\nprint(os.environ['word'], end='')\n", inputs={"word": 7}
        ),
        deployment("awk", '#!/usr/bin/awk -f\nBEGIN { print ENVIRON["list"] }\n', inputs={"list": {"a": [True]}}),
    )
    guest.start()
    assert server.result("run-dos")["outputs"]["deploy_stdout"] == "dos\n"
    assert server.result("run-python")["outputs"]["deploy_stdout"] == "7"
    assert server.result("run-awk")["outputs"]["deploy_stdout"] == '{"a": [true]}\n'
