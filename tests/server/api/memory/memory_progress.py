"""Progress and runs that are whatever a test puts there."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from calor.server.engine.contract.progress_views import (
    GuestView,
    OutputPage,
    OutputQuery,
    PieceView,
    ProgressView,
    RunState,
    RunView,
    StackPlace,
)
from calor.server.errors import Conflict, EntityNotFound
from calor.server.identity.callers import Caller

AT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
PLACE = StackPlace(stack_id="s1", stack_name="shop", resource_name="install")


def piece(number: int, begin: int, data: bytes, stream: str = "stdout") -> PieceView:
    return PieceView(
        number=number,
        place=PLACE,
        deployment_id="d1",
        run_id="r1",
        attempt=1,
        stream=stream,
        begin=begin,
        end=begin + len(data),
        at=AT,
        data=data,
    )


def run(ident: str = "d1", **more: Any) -> RunView:
    given: dict[str, Any] = {
        "id": ident,
        "run_id": "r1",
        "source_id": None,
        "place": PLACE,
        "server_id": "srv-1",
        "server_name": "web",
        "name": "install",
        "action": "CREATE",
        "status": "IN_PROGRESS",
        "status_reason": "",
        "state": RunState.RUNNING,
        "step": "2/4 unpack",
        "percent": 25,
        "last_output": "unpacking",
        "last_output_at": AT,
        "asked_by": None,
        "input_values": {},
        "output_values": {},
        "created_at": AT,
        "updated_at": None,
    }
    return RunView(**{**given, **more})


class MemoryProgress:
    def __init__(self) -> None:
        self.pieces = [piece(3, 0, b"one\n"), piece(4, 4, b"t\xffo\n"), piece(9, 0, b"oops\n", "stderr")]

    async def show(self, caller: Caller, name: str, ident: str) -> ProgressView:
        guest = GuestView(
            place=PLACE, server_id="srv-1", state="running", detail="", last_contact=AT, agent="0.1", verdict=None
        )
        return ProgressView(guests=[guest], runs=[run()])

    async def output(self, caller: Caller, name: str, ident: str, query: OutputQuery) -> OutputPage:
        found = [one for one in self.pieces if one.number > query.since][:2]
        return OutputPage(pieces=found, next=found[-1].number if found else query.since, over=len(found) < 2)

    async def output_of(self, caller: Caller, deployment: str, query: OutputQuery) -> OutputPage:
        if deployment != "d1":
            raise EntityNotFound("There is no such deployment.")
        return await self.output(caller, "", "", query)


class MemoryRuns:
    async def cancel(self, caller: Caller, ident: str) -> RunView:
        if ident != "d1":
            raise Conflict("There is nothing to cancel.")
        return run(state=RunState.CANCELLING)

    async def ask(self, caller: Caller, ident: str, body: Mapping[str, Any]) -> RunView:
        return run("x1", source_id=ident, action=body["action"], asked_by=caller.user_name)

    async def list(self, caller: Caller, ident: str) -> Sequence[RunView]:
        return [run("x1", source_id=ident)]

    async def show(self, caller: Caller, ident: str, run_id: str) -> RunView:
        return run(run_id, source_id=ident)
