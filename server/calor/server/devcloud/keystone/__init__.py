"""Identity v3: tokens, the directory, trusts, application credentials."""

from aiohttp import web

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Service
from calor.server.devcloud.keystone import application_credentials, authentication, directory, trusts

TITLES = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 409: "Conflict"}


def refuse(error: ApiError) -> web.Response:
    body = {"error": {"code": error.status, "message": error.message, "title": TITLES.get(error.status, "Error")}}
    return web.json_response(body, status=error.status, headers=error.headers)


KEYSTONE = Service(
    type="identity",
    name="keystone",
    prefix="/identity",
    endpoint="/identity",
    routes=(
        *authentication.ROUTES,
        *directory.ROUTES,
        *trusts.ROUTES,
        *application_credentials.ROUTES,
    ),
    refuse=refuse,
)
