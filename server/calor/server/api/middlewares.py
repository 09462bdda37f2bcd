"""What surrounds every request: its id, its line in the log, and errors turned into answers."""

import logging
import time
import uuid
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.typedefs import Middleware
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from calor.server.api import faults
from calor.server.api.keys import TOKENS
from calor.server.config import logs
from calor.server.errors import CalorError, ServiceUnavailable, Unauthorized

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
ErrorAnswer = Callable[[web.Request, CalorError], web.StreamResponse]
REQUEST_ID = web.RequestKey("request_id", str)
WHO = web.RequestKey("who", str)
_HEADER = "X-Openstack-Request-Id"


@web.middleware
async def identified(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Give the request an id, answer with it, and write one line when it is done."""
    ident = f"req-{uuid.uuid4()}"
    request[REQUEST_ID] = ident
    started = time.perf_counter()
    with logs.request(ident):
        response = await handler(request)
        response.headers[_HEADER] = ident
        log.log(
            _level(request, response),
            "request",
            extra={
                "method": request.method,
                "path": request.raw_path,
                "status": response.status,
                "seconds": round(time.perf_counter() - started, 4),
                "remote": request.remote,
                "who": request.get(WHO, "-"),
            },
        )
    return response


def _level(request: web.Request, response: web.StreamResponse) -> int:
    """What thousands of agents and balancers ask all day long is of no interest unless it fails."""
    is_routine = request.path.startswith("/guest/") or request.path == "/healthcheck"
    return logging.DEBUG if is_routine and response.status < 400 else logging.INFO


def answering_errors(answer: ErrorAnswer) -> Middleware:
    """The one place where exceptions become answers; ``answer`` knows the API's error body."""

    @web.middleware
    async def errors(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except CalorError as error:
            return answer(request, error)
        except web.HTTPMethodNotAllowed as error:
            if request.method == "OPTIONS":
                return web.Response(status=204, headers={"Allow": ",".join(sorted(error.allowed_methods))})
            detail = f"{request.method} is not possible at {request.path}."
            return answer(request, faults.HTTPMethodNotAllowed(detail))
        except web.HTTPNotFound:
            return answer(request, faults.HTTPNotFound(f"There is nothing at {request.path}."))
        except web.HTTPException as error:
            if error.status < 400:
                return web.Response(status=error.status, headers=error.headers, text=error.text)
            return answer(request, faults.HTTPBadRequest(error.reason))
        except (InterfaceError, OperationalError) as error:
            log.exception("database failed", extra={"method": request.method, "path": request.path})
            return answer(request, _database_away(request, error))
        except Exception:
            log.exception("request failed", extra={"method": request.method, "path": request.path})
            ident = request.get(REQUEST_ID, "")
            detail = f"An unexpected error happened. The server's log has it under {ident}."
            return answer(request, faults.InternalServerError(detail))

    return errors


def _database_away(request: web.Request, error: DBAPIError) -> ServiceUnavailable:
    """A full disk, a lost connection: for the operator to mend."""
    is_full = "disk is full" in str(error.orig)
    reason = "its disk is full" if is_full else "it does not answer"
    return ServiceUnavailable(
        f"The server's database cannot be used now: {reason}. Try again later; the server's log has it under "
        f"{request.get(REQUEST_ID, '')}."
    )


def heat_error(request: web.Request, error: CalorError) -> web.StreamResponse:
    """Heat's error body; a 401 says where tokens come from."""
    headers = {}
    if isinstance(error, Unauthorized) and TOKENS in request.app:
        headers["WWW-Authenticate"] = request.app[TOKENS].www_authenticate
    if isinstance(error, ServiceUnavailable):
        headers["Retry-After"] = "5"
    return faults.response_of(request, error, headers)
