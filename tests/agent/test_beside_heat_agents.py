"""An instance that had heat-agents before, or has them beside ours: nothing is run twice."""

import json
import subprocess
import time

import pytest

from calor.agent import deployed, places

RAN = "#!/bin/sh\necho $deploy_action >>{0}\necho {0}\n"


@pytest.fixture
def theirs(guest):
    """Leaves what heat-agents do of a config that they have begun."""
    folder = guest.root / "var/lib/heat-config/deployed"

    def write(document, outputs=None):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{document['id']}.json").write_text(
            json.dumps({key: value for key, value in document.items() if key != "calor"})
        )
        if outputs is not None:
            (folder / f"{document['id']}.notify.json").write_text(json.dumps(outputs))
        return document

    return write


def test_what_heat_agents_have_run_is_told_as_it_ended_and_not_run_again(server, guest, theirs, deployment, tmp_path):
    ran = tmp_path / "ran"
    good = theirs(
        deployment("good", RAN.format(ran), outputs=["x"]),
        {"x": "1", "deploy_stdout": "theirs", "deploy_stderr": "", "deploy_status_code": 0},
    )
    bad = theirs(deployment("bad", RAN.format(ran)), {"deploy_stdout": "", "deploy_status_code": 3})
    server.deploy(good, bad, deployment("new", RAN.format(ran)))
    guest.start()
    server.result("run-new")
    assert ran.read_text().count("\n") == 1
    done = server.result("run-good")
    assert (done["outcome"], done["reason"]) == ("finished", "")
    assert (done["outputs"]["x"], done["outputs"]["deploy_stdout"]) == ("1", "theirs")
    assert server.result("run-bad")["reason"] == "run by heat-agents before: exit code 3"
    assert "not run  reported     attempts=0 good" in guest.run("status").stdout
    folder, where = guest.root / "var/lib/heat-config/deployed", places.find({}, str(guest.root))
    for name in ("new", "good"):
        deployed.forget(where, {}, f"config-{name}")
    assert not (folder / "config-new.json").exists()
    assert (folder / "config-good.json").exists(), "what is theirs stays"


@pytest.mark.slow
def test_what_heat_agents_run_now_is_theirs_to_tell_until_they_end_without_a_word(
    server, guest, theirs, deployment, tmp_path
):
    runner = tmp_path / "55-heat-config"
    runner.write_text("read line\n")
    with subprocess.Popen(["/bin/sh", str(runner)], stdin=subprocess.PIPE) as process:
        server.deploy(theirs(deployment("a", RAN.format(tmp_path / "ran"))), deployment("b", "true"))
        guest.start()
        server.result("run-b")
        time.sleep(0.5)
        assert [one["run_id"] for one in server.results] == ["run-b"]
        process.communicate(b"\n")
    done = server.result("run-a")
    assert done["outcome"] == "interrupted"
    assert "heat-agents have begun this config before" in done["reason"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
def test_heat_agents_pass_over_what_was_begun_here(server, guest, deployment, reference_agents, tmp_path):
    ran = tmp_path / "ran"
    older = guest.root / "var/run/heat-config/deployed"
    older.mkdir(parents=True)
    (older / "ancient.json").write_text("{}")
    document = deployment("a", RAN.format(ran), inputs={"deploy_action": "CREATE"})
    server.deploy(document)
    guest.start()
    server.result("run-a")
    folder = guest.root / "var/lib/heat-config/deployed"
    assert ran.read_text() == "CREATE\n"
    assert (folder / "config-a.json").stat().st_mode & 0o777 == 0o600
    assert (folder / "ancient.json").exists(), "moved as they move it"
    (tmp_path / "heat-config").write_text(json.dumps([document]))
    program = next((reference_agents / "src").glob("**/configure.d/55-heat-config"))
    said = subprocess.run(
        [reference_agents / "bin/python", program],
        env={"HEAT_SHELL_CONFIG": str(tmp_path / "heat-config"), "HEAT_CONFIG_DEPLOYED": str(folder), "PATH": "/bin"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Skipping config config-a, already deployed" in said.stderr
    assert ran.read_text() == "CREATE\n"
