"""Calor's own paths: progress, output, cancelling, runs on demand, retained resources."""

import base64
import json
from typing import Any

from calor.server.identity import hash_secret

STACK = "/v1/proj1/stacks/shop/s1"
DEPLOYMENT = "/v1/proj1/software_deployments/d1"


async def test_progress_shows_guests_and_deployments(rest: Any) -> None:
    shown = await (await rest.get(f"{STACK}/progress")).json()
    assert [guest["state"] for guest in shown["guests"]] == ["running"]
    (run,) = shown["deployments"]
    assert (run["state"], run["step"], run["percent"], run["last_output"]) == ("RUNNING", "2/4 unpack", 25, "unpacking")


async def test_output_comes_by_pages_and_bytes_that_are_no_text_survive(rest: Any) -> None:
    page = await (await rest.get(f"{STACK}/logs?since=0&wait=1")).json()
    assert [piece["text"] for piece in page["pieces"]] == ["one\n", "t\N{REPLACEMENT CHARACTER}o\n"]
    assert "data" not in page["pieces"][0]
    assert base64.b64decode(page["pieces"][1]["data"]) == b"t\xffo\n"
    assert (page["next"], page["over"]) == (4, False)
    page = await (await rest.get(f"{STACK}/logs?since=4")).json()
    assert [piece["stream"] for piece in page["pieces"]] == ["stderr"]
    assert page["over"]
    assert (await rest.get(f"{STACK}/logs?since=x")).status == 400


async def test_output_comes_as_server_sent_events_until_it_is_over(rest: Any) -> None:
    headers = {"Accept": "text/event-stream"}
    answer = await rest.get(f"{DEPLOYMENT}/logs", headers={**headers, "Last-Event-ID": "3"})
    assert answer.content_type == "text/event-stream"
    events = [block.split("\n") for block in (await answer.text()).strip().split("\n\n")]
    assert [event[0] for event in events] == ["id: 4", "id: 9", "event: over"]
    assert json.loads(events[1][2].removeprefix("data: "))["text"] == "oops\n"
    missing = await rest.get("/v1/proj1/software_deployments/d2/logs", headers=headers)
    assert missing.status == 404


async def test_a_deployment_is_cancelled_and_run_on_demand(rest: Any) -> None:
    answer = await rest.post(f"{DEPLOYMENT}/cancel")
    assert answer.status == 202
    assert (await answer.json())["run"]["state"] == "CANCELLING"
    assert (await rest.post("/v1/proj1/software_deployments/d2/cancel")).status == 409
    asked = await rest.post(f"{DEPLOYMENT}/runs", json={"action": "BACKUP"})
    assert asked.status == 201
    run = (await asked.json())["run"]
    assert (run["on_demand_of"], run["action"], run["asked_by"]) == ("d1", "BACKUP", "user1")
    assert [one["id"] for one in (await (await rest.get(f"{DEPLOYMENT}/runs")).json())["runs"]] == ["x1"]
    assert (await (await rest.get(f"{DEPLOYMENT}/runs/x1")).json())["run"]["id"] == "x1"


async def test_a_reader_reads_and_changes_nothing(rest: Any) -> None:
    reader = {"X-Auth-Token": "=reader:proj1"}
    for path in (f"{STACK}/progress", f"{STACK}/logs", f"{DEPLOYMENT}/logs", f"{DEPLOYMENT}/runs"):
        assert (await rest.get(path, headers=reader)).status == 200
    for path in (f"{DEPLOYMENT}/cancel", f"{DEPLOYMENT}/runs"):
        assert (await rest.post(path, headers=reader, json={"action": "x"})).status == 403


async def test_f031_retained_resources_are_answered_with_their_physical_ids(rest: Any) -> None:
    template = {"heat_template_version": "2018-08-31"}
    made = await (await rest.post("/v1/proj1/stacks", json={"stack_name": "gone", "template": template})).json()
    path = f"/v1/proj1/stacks/gone/{made['stack']['id']}"
    answer = await rest.delete(f"{path}?retain=disk")
    assert answer.status == 202
    retained = [{"resource_name": "disk", "resource_type": "OS::Test", "physical_resource_id": "disk-id"}]
    assert await answer.json() == {"retained": retained}


async def test_guests_send_output_and_the_verdict_of_cloud_init(
    aiohttp_client: Any, rest_app: Any, engine: Any
) -> None:
    guest = await aiohttp_client(rest_app)
    bootstrap = engine.guests.bootstraps.mint("srv")
    here = "/guest/v1/instances/srv"
    await guest.post(f"{here}/enrol", json={"bootstrap_token": bootstrap, "secret_hash": hash_secret("geheim")})
    minted = await (await guest.post(f"{here}/token", json={"secret": "geheim"})).json()
    headers = {"Authorization": f"Bearer {minted['token']}"}
    body = {"run_id": "r1", "deployment_id": "d1", "attempt": 1, "pieces": []}
    assert await (await guest.post(f"{here}/output", json=body, headers=headers)).json() == {
        "next": {"stdout": 3, "stderr": 0}
    }
    other = await guest.post(f"{here}/output", json={**body, "run_id": "r0"}, headers=headers)
    assert await other.json() == {"next": None}
    assert (await guest.post(f"{here}/cloud-init", json={}, headers=headers)).status == 400
    assert (await guest.post(f"{here}/cloud-init", json={"status": "done"}, headers=headers)).status == 200
    assert engine.guests.verdicts == [{"status": "done"}]
    beat = {"state": "running", "running": [{"run_id": "run-of-before"}]}
    told = await (await guest.post(f"{here}/heartbeat", json=beat, headers=headers)).json()
    assert told["cancelled"] == ["run-of-before"]
