"""Requests that were put to Heat itself, put to the whole server: same status, same keys, same values.

A case file names ids, times and texts by placeholders. Where we differ on purpose, `DIFFERENT` says why.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parents[4] / "shared/reference/api-cases.json"
BASE = "http://heat.example:8004"
PLACEHOLDERS = {
    "<time>": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "<uuid>": r"[0-9a-f-]{36}",
    "<short>": r"[a-z0-9]{6,14}",
    "<text>": r"(?s).*",
}
RUN = ("basic", "create_errors", "software", "actions", "update", "waitcond", "failures", "roles", "previews", "hooks")
DIFFERENT: dict[str, dict[int, str]] = {
    "basic": {
        34: "a deleted stack is gone by name at once; Heat's convergence still redirected",
        36: "and is in no list that did not ask for deleted ones",
    },
    "hooks": {3: "the pause is an event that can be read while it lasts, as Heat's older engine had it (F021)"},
    "roles": {
        53: "users of instances are no Keystone users here, so Keystone's role counts for its project",
        77: "the type is refused, though not yet as forbidden",
        78: "the type is refused, though not yet as forbidden",
    },
    "waitcond": {
        2: "a signal that cannot be taken is answered with 400, not swallowed",
        3: "as above",
        8: "signals that were refused do not count",
        12: "as above",
    },
}
"""On purpose."""
GAPS: dict[str, dict[int, str]] = {
    "actions": {29: "suspend after a failed resume is not taken up by every resource"},
    "basic": {
        9: "a hidden parameter's default is masked in the template",
        16: "attributes have 'show' too",
        28: "a detailed list has no attributes",
        29: "an event shows the properties that were not given, too",
        33: "a deleted stack has its time of deletion",
    },
    "create_errors": {49: "the empty stack is done by then"},
    "failures": {
        3: "a failed resource keeps its physical id",
        4: "the first event of a resource has no physical id yet",
    },
    "hooks": {9: "as failures 4"},
    "previews": {
        7: "a property that is missing is told",
        12: "a default of a hidden parameter is masked, here too",
        15: "keys of a preview's resources",
        16: "as above",
    },
    "software": dict.fromkeys((1, 2, 8), "the default group is shown"),
    "update": {3: "keys of a preview's resources", 8: "as failures 4", 20: "as 3"},
}
"""Not yet as in Heat."""


class Mismatch(Exception):
    pass


class Play:
    """One scenario against one server. ``names`` maps the file's names to the ids that we were given."""

    def __init__(self, client: Any, scenario: dict[str, Any]) -> None:
        self.client, self.steps, self.name = client, scenario["steps"], scenario["name"]
        self.names: dict[str, str] = {}
        self.faults: list[str] = []

    async def run(self) -> None:
        for number, step in enumerate(self.steps):
            if "request" in step:
                await self.request(number, step)
            elif "wait_until_not_in_progress" in step:
                await self.wait(number, step["wait_until_not_in_progress"], step["state"])

    async def request(self, number: int, step: dict[str, Any]) -> None:
        asked, wanted = step["request"], step["response"]
        if asked["path"].endswith("/signal"):
            await self.settle(asked["path"])
        token = f"={asked['roles']}" if "roles" in asked else "member"
        body = self.filled(json.dumps(asked["body"])) if "body" in asked else None
        answer = await self.client.request(
            asked["method"],
            f"/v1/proj1{self.filled(asked['path'])}",
            data=body,
            headers={"X-Auth-Token": f"{token}:proj1"},
            allow_redirects=False,
        )
        body = await answer.json() if answer.content_type == "application/json" else None
        self.remember(asked, body)
        self.note(number, f"{asked['method']} {asked['path']}", self.fault(wanted, answer, body))
        if answer.status == 201 and wanted["status"] >= 400:
            while (await self.state(asked["body"]["stack_name"])).endswith("IN_PROGRESS"):
                await asyncio.sleep(0.02)
            path = f"/v1/proj1/stacks/{asked['body']['stack_name']}/{body['stack']['id']}"
            await self.client.delete(path, headers={"X-Auth-Token": "member:proj1"})
            await self.wait(number, asked["body"]["stack_name"], "gone by name")

    def fault(self, wanted: dict[str, Any], answer: Any, body: Any) -> str | None:
        try:
            self.compare(wanted, answer, body)
        except Mismatch as exc:
            return str(exc)
        return None

    def note(self, number: int, what: str, fault: str | None) -> None:
        known = number in DIFFERENT.get(self.name, {}) or number in GAPS.get(self.name, {})
        if fault is not None and not known:
            self.faults.append(f"{number}: {what}: {fault}")

    def remember(self, asked: dict[str, Any], body: Any) -> None:
        if not isinstance(body, dict):
            return
        made = asked["method"] == "POST"
        if made and isinstance(body.get("stack"), dict) and "id" in body["stack"]:
            self.names[asked["body"]["stack_name"]] = body["stack"]["id"]
        for key, name in (("software_config", "CONF"), ("software_deployment", "DEP")):
            if made and key in body:
                self.names.setdefault(name, body[key]["id"])
        if "/resources/a/events" in asked["path"] and body.get("events"):
            self.names.setdefault("EVENT", body["events"][0]["id"])
            self.names.setdefault("event", body["events"][0]["id"])

    def compare(self, wanted: dict[str, Any], answer: Any, body: Any) -> None:
        if wanted["status"] == 500 and answer.status < 500:
            return  # Heat broke; whatever we answer is better
        if answer.status != wanted["status"]:
            raise Mismatch(f"status {answer.status}, not {wanted['status']}: {json.dumps(body)[:300]}")
        if "location" in wanted:
            self.match(wanted["location"], answer.headers.get("Location", ""), "Location")
        if answer.status >= 400:
            assert body.keys() == {"code", "title", "explanation", "error"}
            return  # the kind of an error may be finer than Heat's
        expected = wanted.get("body")
        if isinstance(expected, dict) and "first" in expected:
            self.match(expected["first"], body["stacks"][0], "first")
        elif expected is not None and isinstance(body, dict) and "count" not in expected:
            self.match(expected, body, "")

    def match(self, wanted: Any, found: Any, path: str) -> None:
        if isinstance(wanted, dict):
            if not isinstance(found, dict) or wanted.keys() != found.keys():
                keys = sorted(wanted.keys() ^ found.keys()) if isinstance(found, dict) else found
                raise Mismatch(f"{path}: keys differ: {keys}")
            for key, value in wanted.items():
                if key != "stack_user_project_id":  # our guests need no project of their own
                    self.match(value, found[key], f"{path}.{key}")
        elif isinstance(wanted, list):
            self.match_list(wanted, found, path)
        elif isinstance(wanted, str):
            is_text = isinstance(found, str) and re.fullmatch(self.pattern(wanted), found)
            if not is_text and not (wanted == "<text>" and found is None):
                raise Mismatch(f"{path}: {found!r}, not {wanted!r}")
        elif wanted != found:
            raise Mismatch(f"{path}: {found!r}, not {wanted!r}")

    def match_list(self, wanted: list[Any], found: Any, path: str) -> None:
        """The file sorts its lists; so each wanted one must be there, in any order."""
        if not isinstance(found, list) or len(found) != len(wanted):
            raise Mismatch(f"{path}: {json.dumps(found)[:300]}, not {len(wanted)} of them")
        left = list(found)
        for number, one in enumerate(wanted):
            left.sort(key=lambda candidate: -self.likeness(one, candidate))
            reasons = []
            for candidate in left:
                try:
                    self.match(one, candidate, f"{path}[{number}]")
                except Mismatch as exc:
                    reasons.append(str(exc))
                else:
                    left.remove(candidate)
                    break
            else:
                raise Mismatch(reasons[0])

    def likeness(self, wanted: Any, found: Any) -> int:
        if not isinstance(wanted, dict) or not isinstance(found, dict):
            return int(wanted == found)
        return sum(1 for key, value in wanted.items() if found.get(key) == value)

    def filled(self, text: str) -> str:
        """The text with the ids that we were given."""
        return re.sub(r"[{<]id:(\w+)[}>]", lambda found: self.names.get(found[1], found[1]), text)

    async def settle(self, path: str) -> None:
        """Heat's run was slow enough for the resource to be there when its signal came."""
        resource = self.filled(path).removesuffix("/signal")
        for _ in range(150):
            answer = await self.client.get(f"/v1/proj1{resource}", headers={"X-Auth-Token": "member:proj1"})
            if answer.status == 200 and (await answer.json())["resource"]["resource_status"] != "INIT_COMPLETE":
                break
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)

    def pattern(self, wanted: str) -> str:
        text = re.escape(wanted.replace(BASE, str(self.client.make_url("")).rstrip("/")))
        for placeholder, pattern in PLACEHOLDERS.items():
            text = text.replace(re.escape(placeholder), pattern)
        return re.sub(r"<id:(\w+)>", lambda found: re.escape(self.names.get(found[1], found[0])), text)

    async def wait(self, number: int, name: str, state: str) -> None:
        for _ in range(400):
            seen = await self.state(name)
            if not seen.endswith("IN_PROGRESS"):
                break
            await asyncio.sleep(0.02)
        gone = {"gone by name", "DELETE_COMPLETE"}
        is_wrong = seen != state and not {seen, state} <= gone
        self.note(number, f"waiting for {name}", f"{seen}, not {state}" if is_wrong else None)

    async def state(self, name: str) -> str:
        headers = {"X-Auth-Token": "member:proj1"}
        answer = await self.client.get(f"/v1/proj1/stacks/{name}", headers=headers)
        if answer.status != 200:
            return "gone by name"
        return str((await answer.json())["stack"]["stack_status"])


def scenarios() -> list[dict[str, Any]]:
    if not CASES.exists():
        return []
    return [one for one in json.loads(CASES.read_text())["scenarios"] if one["name"] in RUN]


@pytest.fixture
async def whole(aiohttp_client: Any, real_engine: Any, app_of: Any) -> AsyncIterator[Any]:
    """A client of the whole server: the real engine on SQLite, no cloud."""
    yield await aiohttp_client(app_of(real_engine))


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda one: one["name"])
async def test_the_server_answers_as_heat_did(whole: Any, scenario: dict[str, Any]) -> None:
    play = Play(whole, scenario)
    await play.run()
    assert not play.faults, "\n" + "\n".join(play.faults)
