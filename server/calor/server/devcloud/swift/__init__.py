"""Object storage v1, with TempURL."""

from aiohttp import web

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Service
from calor.server.devcloud.swift import storage

TITLES = {401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 409: "Conflict", 422: "Unprocessable Entity"}


def refuse(error: ApiError) -> web.Response:
    text = f"<html><h1>{TITLES.get(error.status, 'Error')}</h1><p>{error.message}</p></html>"
    return web.Response(status=error.status, text=text, content_type="text/html", headers=error.headers)


SWIFT = Service(
    type="object-store",
    name="swift",
    prefix="/object-store",
    endpoint="/object-store/v1/AUTH_{project_id}",
    routes=storage.ROUTES,
    refuse=refuse,
)
