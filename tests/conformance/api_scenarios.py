"""Scenarios of requests that were put to Heat itself, put to the whole server: same status, same keys, same values.

The file names ids, times and texts by placeholders, and says where Heat's older engine answered otherwise: either
answer agrees. Errors agree by their status.
"""

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application
from judging import Judge, Verdict
from matching import Match, Mismatch

from calor.server import identity, store
from calor.server.api.app import orchestration_app
from calor.server.api.keys import ApiSettings
from calor.server.auth import Policy
from calor.server.cloud.credentials import CredentialKind, Credentials
from calor.server.config import GuestUrls, load
from calor.server.engine.orchestrator import Orchestrator
from calor.server.identity.callers import Caller
from calor.server.resources.registry import Types

FINAL_LOOKS, SIGNAL_LOOKS, PAUSE = 1500, 150, 0.02
MEMBER = {"X-Auth-Token": "member"}
ROLES = {"admin": {"admin", "member", "reader"}, "member": {"member", "reader"}}


class Tokens:
    """A token is a role's name; `=ROLE` has that one role and none that it implies."""

    www_authenticate = "Keystone"

    async def validate(self, token: str) -> Caller:
        roles = {token[1:]} if token.startswith("=") else ROLES[token]
        return Caller(
            user_id="user1",
            user_name="user1",
            project_id="proj1",
            roles=frozenset(roles),
            token=token,
            is_admin="admin" in roles,
        )


class NoCloud:
    """A cloud that is not there: enough for stacks without cloud resources."""

    def open(self, credentials: Credentials) -> "NoCloud":
        return self

    async def delegate(self, caller: Caller) -> Credentials:
        return Credentials(kind=CredentialKind.TRUST, project_id=caller.project_id, user_id=caller.user_id, ident="t")

    async def revoke(self, credentials: Credentials) -> None: ...
    async def close(self) -> None: ...


@asynccontextmanager
async def serving() -> AsyncIterator[TestClient[Any, Application]]:
    """A client of the whole server: API and engine on SQLite."""
    urls = GuestUrls(orchestration="http://guest:8004", cfn="http://guest:8000", signals="http://guest:8000")
    conf = load()
    with tempfile.TemporaryDirectory(prefix="calor-cases-") as folder:
        url = f"sqlite:///{folder}/calor.sqlite"
        await store.upgrade(url)
        database = await store.open_database(url)
        orchestrator = Orchestrator(database, identity.Keys.generate(), NoCloud(), Types())  # type: ignore[arg-type]
        await orchestrator.start()
        settings = ApiSettings(limits=conf.limits, guest_urls=urls)
        app = orchestration_app(orchestrator=orchestrator, policy=Policy(conf.raw), tokens=Tokens(), settings=settings)
        try:
            async with TestClient(TestServer(app)) as client:
                yield client
        finally:
            await orchestrator.stop()
            await database.close()


class Play:
    """One scenario against one server. ``names`` maps the file's names to the ids that we were given."""

    def __init__(self, client: TestClient[Any, Application], scenario: Mapping[str, Any], judge: Judge) -> None:
        self._client, self._scenario, self._judge = client, scenario, judge
        self._base = str(client.make_url("")).rstrip("/")
        self._names: dict[str, str] = {}
        self._verdicts: list[Verdict] = []

    async def run(self) -> Sequence[Verdict]:
        for number, step in enumerate(self._scenario["steps"]):
            if "request" in step:
                await self._request(number, step)
            elif "wait_until_not_in_progress" in step:
                await self._wait(number, step)
        return self._verdicts

    def _note(self, number: int, case: str, difference: str) -> None:
        name = self._scenario["name"]
        self._verdicts.append(self._judge.noted(f"api: {name}", f"{name} {number}", f"{name}: {case}", difference))

    async def _request(self, number: int, step: Mapping[str, Any]) -> None:
        asked = step["request"]
        if asked["path"].endswith("/signal"):
            await self._settle(asked["path"])
        answer = await self._client.request(
            asked["method"],
            f"/v1/proj1{self._filled(asked['path'])}",
            data=self._filled(json.dumps(asked["body"])) if "body" in asked else None,
            headers={"X-Auth-Token": f"={asked['roles']}" if "roles" in asked else "member"},
            allow_redirects=False,
        )
        body = await answer.json() if answer.content_type == "application/json" else None
        self._remember(asked, body)
        location = answer.headers.get("Location", "")
        faults = [self._fault(wanted, answer.status, location, body) for wanted in _answers(step)]
        self._note(number, f"{asked['method']} {asked['path']}", "" if not all(faults) else faults[0])
        if answer.status == 201 and step["response"]["status"] >= 400:
            await self._undo(number, asked["body"]["stack_name"], body["stack"]["id"])

    def _fault(self, wanted: Mapping[str, Any], status: int, location: str, body: Any) -> str:
        try:
            self._compare(wanted, status, location, body)
        except Mismatch as error:
            return str(error)
        return ""

    def _compare(self, wanted: Mapping[str, Any], status: int, location: str, body: Any) -> None:
        if wanted["status"] == 500 and status < 500:
            return  # Heat broke; whatever we answer is better
        if status != wanted["status"]:
            raise Mismatch(f"status {status}, not {wanted['status']}: {json.dumps(body)[:300]}")
        match = Match(self._base, self._names)
        if "location" in wanted:
            match(wanted["location"], location, "Location")
        if status >= 400:
            if body.keys() != {"code", "title", "explanation", "error"}:
                raise Mismatch(f"keys of an error: {sorted(body)}")
            return
        expected = wanted.get("body")
        if isinstance(expected, dict) and "first" in expected:
            match(expected["first"], body["stacks"][0], "first")
        elif expected is not None and isinstance(body, dict) and "count" not in expected:
            match(expected, body, "")

    def _remember(self, asked: Mapping[str, Any], body: Any) -> None:
        if not isinstance(body, dict):
            return
        made = asked["method"] == "POST"
        if made and isinstance(body.get("stack"), dict) and "id" in body["stack"]:
            self._names[asked["body"]["stack_name"]] = body["stack"]["id"]
        for key, name in (("software_config", "CONF"), ("software_deployment", "DEP")):
            if made and key in body:
                self._names.setdefault(name, body[key]["id"])
        if "/resources/a/events" in asked["path"] and body.get("events"):
            for name in ("EVENT", "event"):
                self._names.setdefault(name, body["events"][-1]["id"])

    def _filled(self, text: str) -> str:
        """The text with the ids that we were given."""
        return re.sub(r"[{<]id:(\w+)[}>]", lambda found: self._names.get(found[1], found[1]), text)

    async def _settle(self, path: str) -> None:
        """Heat's run was slow enough for the resource to be there when its signal came."""
        resource = self._filled(path).removesuffix("/signal")
        for _ in range(SIGNAL_LOOKS):
            answer = await self._client.get(f"/v1/proj1{resource}", headers=MEMBER)
            if answer.status == 200 and (await answer.json())["resource"]["resource_status"] != "INIT_COMPLETE":
                break
            await asyncio.sleep(PAUSE)
        await asyncio.sleep(5 * PAUSE)

    async def _undo(self, number: int, name: str, ident: str) -> None:
        """What Heat refused and we made must not stand in the way of the next step."""
        while (await self._state(name)).endswith("IN_PROGRESS"):
            await asyncio.sleep(PAUSE)
        await self._client.delete(f"/v1/proj1/stacks/{name}/{ident}", headers=MEMBER)
        await self._wait(number, {"wait_until_not_in_progress": name, "state": "gone by name"})

    async def _wait(self, number: int, step: Mapping[str, Any]) -> None:
        name, state = step["wait_until_not_in_progress"], step["state"]
        for _ in range(FINAL_LOOKS):
            seen = await self._state(name)
            if not seen.endswith("IN_PROGRESS"):
                break
            await asyncio.sleep(PAUSE)
        gone = {"gone by name", "DELETE_COMPLETE"}
        is_right = seen == state or {seen, state} <= gone
        self._note(number, f"state of {name}", "" if is_right else f"{seen}, not {state}")

    async def _state(self, name: str) -> str:
        answer = await self._client.get(f"/v1/proj1/stacks/{name}", headers=MEMBER)
        if answer.status != 200:
            return "gone by name"
        return str((await answer.json())["stack"]["stack_status"])


def _answers(step: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What Heat's engines answered: the newer one's first."""
    older = step.get("legacy_engine", {}).get("response")
    return [step["response"]] + ([older] if older else [])


async def _played(scenario: Mapping[str, Any], judge: Judge) -> Sequence[Verdict]:
    async with serving() as client:
        return await Play(client, scenario, judge).run()


def verdicts(scenarios: Sequence[Mapping[str, Any]], judge: Judge) -> Iterator[Verdict]:
    """One verdict for each request and for each state that was waited for."""
    for scenario in scenarios:
        yield from asyncio.run(_played(scenario, judge))
