"""Errors of requests, and Heat's error body (api-routes.json, ``error_body``). Nothing else knows that body.

A request with the header `FAULTS` gets the faults of its template one by one in ``error.problems``, too; Heat's
clients send no such header, and their answers have Heat's keys only.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from calor.server.errors import (
    BadRequest,
    CalorError,
    EntityNotFound,
    Forbidden,
    NotSupported,
    Problem,
    RequestLimitExceeded,
)
from calor.server.template.problems import as_data

FAULTS = "X-Calor-Faults"
ASKED = "1"


class HTTPBadRequest(BadRequest):
    """The request itself is wrong, whatever the stack's state."""


class HTTPNotFound(EntityNotFound):
    """No such URL, or nothing at it."""


class HTTPForbidden(Forbidden):
    """The path names another project than the token."""


class HTTPMethodNotAllowed(CalorError):
    status, title = 405, "Method Not Allowed"


class InternalServerError(CalorError):
    """Our fault. The detail says nothing of the inside."""


_EXPLANATIONS = {
    400: "The server could not comply with the request since it is either malformed or otherwise incorrect.",
    401: "The request needs a valid token.",
    403: "Access was denied to this resource.",
    404: "The resource could not be found.",
    405: "The method is not allowed for this resource.",
    409: "There was a conflict when trying to complete your request.",
    413: "The body of the request is too large.",
    500: "The server has either erred or is incapable of performing the requested operation.",
    502: "A service of the cloud refused or failed.",
    503: "The server is currently unavailable. Please try again at a later time.",
}
_NAMES = {"BadRequest": "HTTPBadRequest", "Unauthorized": "HTTPUnauthorized"}


def body_of(error: CalorError, *, with_problems: bool = False) -> Mapping[str, Any]:
    name = error.type_name
    told: dict[str, Any] = {"message": error.detail, "traceback": None, "type": _NAMES.get(name, name)}
    if with_problems:
        told["problems"] = [as_data(problem) for problem in _problems(error)]
    return {
        "explanation": _EXPLANATIONS.get(error.status, error.title),
        "code": error.status,
        "error": told,
        "title": error.title,
    }


def _problems(error: CalorError) -> Sequence[Problem]:
    if isinstance(error, NotSupported):
        return [Problem(message=error.detail, code="not-supported")]
    if isinstance(error, RequestLimitExceeded):
        return [Problem(message=error.detail, code="limit")]
    return error.problems


def response_of(request: web.Request, error: CalorError, headers: Mapping[str, str] | None = None) -> web.Response:
    asked = request.headers.get(FAULTS) == ASKED
    return web.json_response(body_of(error, with_problems=asked), status=error.status, headers=headers)
