"""Calls that Heat has and this version has not yet: refused in words, behind their rules."""

from aiohttp import web

from calor.server.api.calls import Call
from calor.server.errors import NotSupported


async def snapshots(_call: Call) -> web.Response:
    raise NotSupported("Stack snapshots are not built in this version of Calor.")


async def abandoning(_call: Call) -> web.Response:
    raise NotSupported("Abandoning and exporting stacks is not built in this version of Calor.")
