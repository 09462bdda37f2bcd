"""What goes on inside the instances of a stack, what runs print, cancelling, and runs on demand: Calor's own paths."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

from aiohttp import web

from calor.server.api import progress_json
from calor.server.api.calls import Call, json_answer
from calor.server.api.queries import number
from calor.server.engine.contract.progress_views import OutputPage, OutputQuery

LONGEST_WAIT = 60
Read = Callable[[OutputQuery], Awaitable[OutputPage]]


async def show(call: Call) -> web.Response:
    return json_answer(progress_json.progress(await call.services.progress.show(call.caller, *call.stack)))


async def output(call: Call) -> web.StreamResponse:
    return await _answer(call, lambda query: call.services.progress.output(call.caller, *call.stack, query))


async def output_of_deployment(call: Call) -> web.StreamResponse:
    ident = call.path("deployment_id")
    return await _answer(call, lambda query: call.services.progress.output_of(call.caller, ident, query))


async def _answer(call: Call, read: Read) -> web.StreamResponse:
    """One page after a long poll, or with ``Accept: text/event-stream`` an event a piece until it is over."""
    request = call.request
    query = OutputQuery(
        since=number(request, "since") or 0,
        wait=float(min(number(request, "wait") or 0, LONGEST_WAIT)),
        resource=request.query.get("resource") or None,
    )
    if "text/event-stream" in request.headers.get("Accept", ""):
        last = request.headers.get("Last-Event-ID", "")
        return await _stream(request, replace(query, since=int(last) if last.isdecimal() else query.since), read)
    return json_answer(progress_json.output(await read(query)))


async def _stream(request: web.Request, query: OutputQuery, read: Read) -> web.StreamResponse:
    """Server-sent events ``output`` (a piece, its number as id) and at the end ``over``. A comment goes out now and
    then, so that proxies keep the connection."""
    page = await read(query)  # an error is still an ordinary answer
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await response.prepare(request)
    while True:
        for piece in page.pieces:
            data = json.dumps(progress_json.piece(piece), ensure_ascii=False)
            await response.write(f"id: {piece.number}\nevent: output\ndata: {data}\n\n".encode())
        if page.over:
            await response.write(b"event: over\ndata: {}\n\n")
            return response
        if not page.pieces:
            await response.write(b": still there\n\n")
        await asyncio.sleep(0)
        page = await read(replace(query, since=page.next, wait=15.0))


async def cancel(call: Call) -> web.Response:
    view = await call.services.runs.cancel(call.caller, call.path("deployment_id"))
    return json_answer({"run": progress_json.run(view)}, status=202)


async def ask(call: Call) -> web.Response:
    view = await call.services.runs.ask(call.caller, call.path("deployment_id"), await call.body())
    return json_answer({"run": progress_json.run(view)}, status=201)


async def runs(call: Call) -> web.Response:
    views = await call.services.runs.list(call.caller, call.path("deployment_id"))
    return json_answer({"runs": [progress_json.run(view) for view in views]})


async def run(call: Call) -> web.Response:
    view = await call.services.runs.show(call.caller, call.path("deployment_id"), call.path("run_id"))
    return json_answer({"run": progress_json.run(view)})
