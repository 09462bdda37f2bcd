"""How Nova and Cinder word a refusal."""

from aiohttp import web

from calor.server.devcloud.access import ApiError

FAULT_NAMES = {
    400: "badRequest",
    401: "unauthorized",
    403: "forbidden",
    404: "itemNotFound",
    405: "badMethod",
    406: "notAcceptable",
    409: "conflictingRequest",
    413: "overLimit",
    429: "overLimit",
    501: "notImplemented",
    503: "serviceUnavailable",
}


def refuse(error: ApiError) -> web.Response:
    if error.status == 401:
        body = {"error": {"code": 401, "title": "Unauthorized", "message": error.message}}
    else:
        body = {FAULT_NAMES.get(error.status, "computeFault"): {"code": error.status, "message": error.message}}
    return web.json_response(body, status=error.status, headers=error.headers)
