"""Image v2."""

from aiohttp import web

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, Service, get
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.glance import images

TITLES = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 409: "Conflict", 410: "Gone"}
VERSIONS = ("v2.9", "v2.7", "v2.6", "v2.5", "v2.4", "v2.3", "v2.2", "v2.1", "v2.0")
TYPES = {
    "id": "string",
    "name": "string",
    "status": "string",
    "visibility": "string",
    "protected": "boolean",
    "os_hidden": "boolean",
    "checksum": "string",
    "owner": "string",
    "size": "integer",
    "virtual_size": "integer",
    "container_format": "string",
    "disk_format": "string",
    "created_at": "string",
    "updated_at": "string",
    "tags": "array",
    "min_ram": "integer",
    "min_disk": "integer",
    "self": "string",
    "file": "string",
    "schema": "string",
}


def refuse(error: ApiError) -> web.Response:
    title = f"{error.status} {TITLES.get(error.status, 'Error')}"
    return web.Response(
        status=error.status,
        text=f"{title}\n\n{error.message}\n\n   ",
        content_type="text/plain",
        headers=error.headers,
    )


def versions(call: Call) -> Answer:
    links = [{"rel": "self", "href": call.url("/image/v2/")}]
    shown = [{"id": one, "status": "SUPPORTED" if at else "CURRENT", "links": links} for at, one in enumerate(VERSIONS)]
    return Answer(body={"versions": shown}, status=300)


def schema(call: Call) -> Doc:
    properties = {name: {"type": ["null", kind], "description": name} for name, kind in TYPES.items()}
    return {"name": "image", "properties": properties, "additionalProperties": {"type": "string"}, "links": []}


def stores(call: Call) -> Doc:
    raise ApiError(404, "Multi backend is not supported at this site.")


def import_info(call: Call) -> Doc:
    return {"import-methods": {"description": "Import methods available.", "type": "array", "value": []}}


GLANCE = Service(
    type="image",
    name="glance",
    prefix="/image",
    endpoint="/image",
    routes=(
        get("", versions, public=True),
        get("/", versions, public=True),
        get("/versions", versions, public=True),
        get("/v2/schemas/image", schema),
        get("/v2/info/stores", stores),
        get("/v2/info/import", import_info),
        *images.ROUTES,
    ),
    refuse=refuse,
)
