"""Guests that say nothing: the contact time-out ends the wait, with what is known of each (F050, F069).

Its length is the operator's: ``contact_timeout`` in the dev cloud's local.conf.
"""

from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.root]

TIME_OUT = 14
MUTE = "#cloud-config\nbootcmd:\n- [ip, route, replace, blackhole, 169.254.169.253/32]\n"
LONG = "#!/bin/sh\necho step one is done\ntouch /run/begun\nsleep 600\n"
KILL_AGENT = "pkill -9 -f '[a]gent.*pyz run'"


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory, dev_cloud_type: Any) -> Iterator[Any]:
    """A dev cloud that does not wait long for its guests."""
    state = tmp_path_factory.mktemp("impatient") / "state"
    state.mkdir()
    (state / "local.conf").write_text(f"[DEFAULT]\ncontact_timeout = {TIME_OUT}\n")
    cloud = dev_cloud_type(state).start()
    yield cloud
    cloud.stop()


@pytest.fixture(scope="module")
def failures(impatient: Any, tmp_path_factory: pytest.TempPathFactory, wrong_type: Any) -> dict[str, str]:
    """What `openstack stack failures list --long` says of each kind of silence; all are waited for at once."""
    wrong = wrong_type(impatient, tmp_path_factory.mktemp("templates"))
    before = wrong.census()
    wrong.begin("never", wrong.deploying(LONG, user_data=MUTE))
    wrong.begin("struck", wrong.deploying(LONG))
    wrong.begin("cut", wrong.deploying(LONG))
    for name, act in (("struck", KILL_AGENT), ("cut", "ip route replace blackhole 169.254.169.253/32")):
        wrong.eventually(name, "test -e /run/begun")
        wrong.eventually(name, "grep -q running /var/lib/calor/status.json")
        wrong.inside(name, "sleep 5")  # a heartbeat with the script's first words
        wrong.inside(name, act)
    said = {name: wrong.failure(name, 60) for name in ("never", "struck", "cut")}
    for name in said:
        wrong.delete(name)
    assert wrong.census() == before, "a silent guest's stack is deleted at once, without waiting for it"
    return said


def test_f069_a_guest_that_never_calls_fails_its_deployments_in_time(failures: dict[str, str]) -> None:
    assert "has never contacted this server" in failures["never"]
    assert "contact time-out" in failures["never"]


def test_f050_a_guest_whose_agent_was_killed_is_told_with_its_last_step_and_output(failures: dict[str, str]) -> None:
    assert "contact time-out" in failures["struck"]
    assert "last made contact at" in failures["struck"]
    assert "step one is done" in failures["struck"]


def test_f050_a_guest_that_is_cut_off_is_told_by_its_last_contact(failures: dict[str, str]) -> None:
    assert "contact time-out" in failures["cut"]
    assert "last made contact at" in failures["cut"]
    assert "running" in failures["cut"]
