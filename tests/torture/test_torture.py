"""Deployments under all that can go wrong at once: none is started twice, each is reported exactly once with the right
outputs, no process is left behind (F054).

Agents are killed at random instants, the server is killed and started again, clocks jump, disks are full for a while,
requests are refused, answers dropped, cut, doubled, delayed or replaced by 5xx. ``CALOR_TORTURE`` is the number of
deployments, ``CALOR_TORTURE_SEED`` makes the choices; the figures of the run are printed as JSON at its end (``-s``).
"""

import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from faulty_proxy import FaultyProxy
from keystoneauth1.adapter import Adapter
from tortured_guest import Clock, TorturedGuest
from user_data import identity_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
]

SHIFTED = Path(__file__).parents[1] / "clients/shifted_server.py"
NUMBER = int(os.environ.get("CALOR_TORTURE", "30"))
SEED = int(os.environ.get("CALOR_TORTURE_SEED", "2026"))
GUESTS = 4
WAVE = 20
OUTSTANDING = 60
FAULT_RATE = 0.25
LARGE = 300_000
YEAR = 365 * 24 * 3600

PLAIN = """#!/bin/sh
echo "$number" >> {ledger}
sleep 0.$((number % 5))
until printf 'done %s' "$number"; do sleep 0.1; done 2>/dev/null
until printf 'said %s' "$number" > "$heat_outputs_path.said"; do sleep 0.1; done 2>/dev/null
"""
FAILS = '#!/bin/sh\necho "$number" >> {ledger}\necho "broken $number" >&2\nexit 3\n'
HANGS = '#!/bin/sh\necho "$number" >> {ledger}\nsetsid sleep 900 &\nsleep 901 &\nsleep 902\n'
PRINTS = '#!/bin/sh\necho "$number" >> {ledger}\nyes | head -c ' + str(LARGE) + "\nexit 0\n"
SCRIPTS = {"plain": PLAIN, "fails": FAILS, "hangs": HANGS, "large": PRINTS}
OPTIONS = {"hangs": {"timeout": 3}}
SETTINGS = {"wait": 5, "retry_max": 1, "poll_max": 1, "heartbeat": 2}


class Torture:
    """The cloud, the guests, the deployments sent so far and what was done to them all."""

    def __init__(self, cloud: Any, folder: Path) -> None:
        self.cloud, self.folder = cloud, folder
        self.random = random.Random(SEED)
        self.done: Counter[str] = Counter()
        self.clock = Clock(folder / "server-clock")
        cloud.program = (sys.executable, str(SHIFTED))
        self.ledger = folder / "ledger"
        self.ledger.touch()
        self.kinds: dict[str, str] = {}
        self.stacks: list[str] = []
        self.single: dict[str, str] = {}
        self.filled: dict[TorturedGuest, float] = {}
        self.asleep: dict[TorturedGuest, float] = {}
        self.proxy = FaultyProxy(lambda: str(cloud.ready["orchestration"]), SEED, 0.0)
        self.session = cloud.connection("calor").session
        self.machines, self.guests = self.make_guests()

    @property
    def heat(self) -> Adapter:
        return Adapter(self.session, service_type="orchestration", interface="public", connect_retries=5)

    def make_guests(self) -> tuple[list[str], list[TorturedGuest]]:
        properties = {"image": "host", "flavor": "m1.tiny", "networks": [{"network": "private"}]}
        server = {"type": "OS::Nova::Server", "properties": {**properties, "user_data_format": "SOFTWARE_CONFIG"}}
        names = [f"server{number}" for number in range(GUESTS)]
        self.create("machines", dict.fromkeys(names, server))
        self.ended("machines")
        ident = self.heat.get("/stacks/machines").json()["stack"]["id"]
        nova = Adapter(self.cloud.connection("calor-admin").session, service_type="compute", interface="public")
        machines, guests = [], []
        for name in names:
            shown = self.heat.get(f"/stacks/machines/{ident}/resources/{name}").json()["resource"]
            machines.append(shown["physical_resource_id"])
            identity = identity_of(nova, machines[-1])
            guests.append(TorturedGuest(self.folder / name, {**SETTINGS, **identity, "server": self.proxy.url}))
        return machines, guests

    def create(self, name: str, resources: dict[str, Any]) -> None:
        template = yaml.safe_dump({"heat_template_version": "2018-08-31", "resources": resources})
        body = {"stack_name": name, "template": template, "timeout_mins": 60}
        answer = self.heat.post("/stacks", json=body, raise_exc=False)
        assert answer.status_code == 201, answer.text

    def ended(self, name: str, seconds: float = 300) -> str:
        until = time.monotonic() + seconds
        while (status := self.heat.get(f"/stacks/{name}").json()["stack"]["stack_status"]).endswith("IN_PROGRESS"):
            assert time.monotonic() < until, f"{name} is {status}\n{self.cloud.tail()}"
            time.sleep(0.2)
        return str(status)

    # what is asked for

    def send_more(self) -> None:
        """A stack of deployments that succeed, and some by themselves of the other kinds."""
        first = len(self.kinds)
        numbers = [f"{number:04d}" for number in range(first, min(first + WAVE, NUMBER))]
        odd = [number for number in numbers if self.random.random() < 0.2]
        self.send_stack(f"wave{first}", [number for number in numbers if number not in odd])
        for number in odd:
            self.send_one(number, self.random.choice(["fails", "hangs", "large"]))

    def send_stack(self, name: str, numbers: list[str]) -> None:
        inputs = [{"name": "number", "type": "String"}]
        properties = {"group": "script", "config": PLAIN.format(ledger=self.ledger), "inputs": inputs}
        config = {"type": "OS::Heat::SoftwareConfig", "properties": {**properties, "outputs": [{"name": "said"}]}}
        resources: dict[str, Any] = {"config": config}
        for number in numbers:
            wanted = {"config": {"get_resource": "config"}, "input_values": {"number": str(int(number))}}
            machine = self.random.choice(self.machines)
            resources[f"d{number}"] = {
                "type": "OS::Heat::SoftwareDeployment",
                "properties": {**wanted, "server": machine, "name": f"d{number}"},
            }
            self.kinds[number] = "plain"
        self.create(name, resources)
        self.stacks.append(name)

    def send_one(self, number: str, kind: str) -> None:
        text = SCRIPTS[kind].format(ledger=self.ledger)
        inputs = [{"name": "number", "type": "String", "value": str(int(number))}]
        config = {"name": f"d{number}", "group": "script", "config": text, "options": OPTIONS.get(kind, {})}
        made = self.heat.post("/software_configs", json={**config, "inputs": inputs}).json()["software_config"]
        body = {"config_id": made["id"], "server_id": self.random.choice(self.machines), "action": "CREATE"}
        answer = self.heat.post("/software_deployments", json={**body, "status": "IN_PROGRESS"})
        self.single[number] = answer.json()["software_deployment"]["id"]
        self.kinds[number] = kind

    # what is done to them

    def act(self) -> None:
        acts = [*[self.kill_agent] * 9, *[self.fill_disk] * 3, *[self.set_clock] * 2, self.kill_server, self.set_server]
        act = self.random.choice(acts)
        self.done[act.__name__] += 1
        act()
        now = time.monotonic()
        for guest in [guest for guest, until in self.filled.items() if now > until]:
            del self.filled[guest]
            guest.release()
        for guest in self.guests:
            if now > self.asleep.get(guest, 0.0):
                guest.revive()

    def kill_agent(self) -> None:
        guest = self.random.choice(self.guests)
        guest.kill()
        self.asleep[guest] = time.monotonic() + self.random.choice([0.0, 0.0, 1.0])

    def fill_disk(self) -> None:
        guest = self.random.choice(self.guests)
        if guest not in self.filled:
            guest.fill()
            self.filled[guest] = time.monotonic() + self.random.uniform(0.5, 4.0)

    def set_clock(self) -> None:
        guest = self.random.choice(self.guests)
        guest.clock.set(self.random.choice([0, 3600, -3600, 10 * YEAR, -10 * YEAR]))

    def set_server(self) -> None:
        self.clock.set(self.random.choice([0, 20 * 60, -20 * 60]))

    def kill_server(self) -> None:
        self.cloud.kill("pid")
        time.sleep(self.random.uniform(0.0, 1.0))
        self.cloud.start_server()

    # how it ends

    def started(self) -> list[str]:
        return self.ledger.read_text().split()

    def taken(self) -> set[str]:
        """The runs whose result the server has taken."""
        with self.proxy.lock:
            return {sent.run_id for sent in self.proxy.sent if sent.status == 200}

    def go(self) -> None:
        self.kill_server()  # so that it sees its own clock from now on
        self.proxy.rate = FAULT_RATE
        until = time.monotonic() + 120 + 6 * NUMBER
        while len(self.taken()) < NUMBER:
            if len(self.kinds) < NUMBER and len(self.kinds) - len(self.taken()) < OUTSTANDING:
                self.send_more()
            self.act()
            time.sleep(self.random.uniform(0.02, 0.6))
            assert time.monotonic() < until, f"{len(self.taken())} of {NUMBER} are reported\n{self.trouble()}"

    def calm(self) -> None:
        """All faults end; what is under way comes to its end."""
        self.proxy.settle()
        self.clock.set(0)
        for guest in self.guests:
            guest.release()
            guest.clock.set(0)
            guest.revive()
        until = time.monotonic() + 60
        while any(list((guest.state / "outbox").glob("*.json")) or guest.others() for guest in self.guests):
            assert time.monotonic() < until, self.trouble()
            time.sleep(0.2)

    def trouble(self) -> str:
        """What a reader of a failure wants to know."""
        said = [
            f"{guest.root.name}: {guest.others()}\n{(guest.root / 'console').read_text()[-1500:]}"
            for guest in self.guests
        ]
        missing = sorted(set(self.kinds) - {f"{int(number):04d}" for number in self.started()})
        return "\n".join([f"not started: {missing}", *said, self.cloud.tail(2000)])

    def figures(self) -> dict[str, Any]:
        return {
            "seed": SEED,
            "deployments": len(self.kinds),
            "kinds": dict(Counter(self.kinds.values())),
            "agent_kills": sum(guest.kills for guest in self.guests),
            "done": dict(self.done),
            "network": dict(self.proxy.faults),
            "results_sent": len(self.proxy.sent),
        }


@pytest.fixture(scope="module")
def tortured(tmp_path_factory: pytest.TempPathFactory, dev_cloud_type: Any) -> Iterator[Torture]:
    """All of it, come to its end."""
    folder = tmp_path_factory.mktemp("torture")
    cloud = dev_cloud_type(folder / "state", "--processes", "2", "--driver", "record").start()
    os.environ["CALOR_SHIFT"] = str(folder / "server-clock")
    run = Torture(cloud, folder)
    try:
        began = time.monotonic()
        run.go()
        run.calm()
        print(json.dumps({**run.figures(), "seconds": round(time.monotonic() - began)}))
        yield run
    finally:
        for guest in run.guests:
            guest.stop()
        del os.environ["CALOR_SHIFT"]
        run.proxy.close()
        cloud.stop()


def test_f054_none_is_left_out_and_none_is_started_twice(tortured: Torture) -> None:
    assert sorted(tortured.started(), key=int) == [str(number) for number in range(NUMBER)]


def test_f054_each_is_reported_exactly_once_and_always_by_the_same_words(tortured: Torture) -> None:
    by_run: dict[str, list[Any]] = {}
    for sent in tortured.proxy.sent:
        by_run.setdefault(sent.run_id, []).append(sent)
    assert len(by_run) == NUMBER
    for sent in by_run.values():
        assert len({one.body for one in sent}) == 1
        assert sum(one.known is False for one in sent) <= 1, "the server takes a result once"
        assert {one.status for one in sent} <= {200, 502}, "502: the server was away"


def test_each_stack_ends_well_with_one_event_a_deployment_and_the_right_outputs(tortured: Torture) -> None:
    for name in tortured.stacks:
        assert tortured.ended(name) == "CREATE_COMPLETE"
        ident = tortured.heat.get(f"/stacks/{name}").json()["stack"]["id"]
        events = tortured.heat.get(f"/stacks/{name}/{ident}/events?resource_status=COMPLETE").json()["events"]
        ends = Counter(one["resource_name"] for one in events if one["resource_name"].startswith("d"))
        resources = tortured.heat.get(f"/stacks/{name}/{ident}/resources").json()["resources"]
        for one in resources:
            if one["resource_type"] == "OS::Heat::SoftwareDeployment":
                number = int(one["resource_name"][1:])
                outputs = deployment(tortured, one["physical_resource_id"])["output_values"]
                assert (outputs["deploy_stdout"], outputs["said"]) == (f"done {number}", f"said {number}")
                assert str(outputs["deploy_status_code"]) == "0"
                assert ends[one["resource_name"]] == 1


def test_what_fails_hangs_or_prints_much_ends_as_it_must(tortured: Torture) -> None:
    was_full = any(guest.was_full for guest in tortured.guests)
    for number, ident in tortured.single.items():
        shown = deployment(tortured, ident)
        outputs, kind = shown["output_values"], tortured.kinds[number]
        if kind == "fails":
            assert (shown["status"], str(outputs["deploy_status_code"])) == ("FAILED", "3")
            assert was_full or outputs["deploy_stderr"] == f"broken {int(number)}\n"
        elif kind == "hangs":
            assert shown["status"] == "FAILED"
            assert "did not end within its 3 seconds" in shown["status_reason"]
        else:
            assert shown["status"] == "COMPLETE"
            assert was_full or outputs["deploy_stdout"] == "y\n" * (LARGE // 2)


def test_no_process_and_no_result_is_left_behind(tortured: Torture) -> None:
    for guest in tortured.guests:
        assert guest.others() == []
        assert list((guest.state / "outbox").glob("*.json")) == []


def deployment(tortured: Torture, ident: str) -> dict[str, Any]:
    return dict(tortured.heat.get(f"/software_deployments/{ident}").json()["software_deployment"])
