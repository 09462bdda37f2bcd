"""The one tree of exceptions. A class carries the HTTP status and title; only the API's middleware reads them.

Heat's error body (api-routes.json, ``error_body``) shows the class name as ``error.type``, so the names
here are Heat's where Heat has one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class CalorError(Exception):
    """Base of all errors that reach a user. ``detail`` is whole sentences: where, what, what to do; ``problems`` are
    the faults of what was sent one by one, where the detail tells of such."""

    status = 500
    title = "Internal Server Error"

    def __init__(self, detail: str, problems: "Sequence[Problem]" = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.problems = tuple(problems)

    @property
    def type_name(self) -> str:
        """The name shown to clients as ``error.type``."""
        return type(self).__name__


class BadRequest(CalorError):
    status, title = 400, "Bad Request"


class Unauthorized(CalorError):
    status, title = 401, "Unauthorized"


class Forbidden(CalorError):
    status, title = 403, "Forbidden"


class EntityNotFound(CalorError):
    """Also for what exists but belongs to another tenant: 404, never 403."""

    status, title = 404, "Not Found"


class ResourceNotAvailable(EntityNotFound):
    """A resource of the template that has no row yet."""


class Conflict(CalorError):
    status, title = 409, "Conflict"


class StackExists(Conflict):
    pass


class ActionInProgress(Conflict):
    pass


class PlanOutdated(Conflict):
    """An update was bound to a plan, and something has changed since."""


class NotSupported(BadRequest):
    """Refused in this state or for this type (Heat's NotSupported)."""


class ResourceActionNotSupported(BadRequest):
    pass


class InvalidBreakPointHook(BadRequest):
    """A hook that does not exist, or that no resource waits at."""


class StackValidationFailed(BadRequest):
    """A template, environment or parameter value that cannot be accepted."""


class RequestLimitExceeded(BadRequest):
    """A configured limit; the detail names it, its value and what was asked."""


class PayloadTooLarge(CalorError):
    status, title = 413, "Request Entity Too Large"


class ServiceUnavailable(CalorError):
    status, title = 503, "Service Unavailable"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One fault of user input.

    ``path`` is like ``resources.web.properties.image``; ``line`` and ``column`` count from 1 and are 0
    where the source text is not known (clients that send parsed JSON).
    """

    message: str
    path: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    code: str = ""

    def __str__(self) -> str:
        place = self.file
        if self.line:
            place += f":{self.line}:{self.column}"
        return ": ".join(part for part in (place, self.path, self.message) if part)


class UpdateRefused(Conflict):
    """An update that would do what is forbidden, refused before anything is done. Its ``path``s are resources'."""

    def __init__(self, problems: "Sequence[Problem]") -> None:
        super().__init__("\n".join(str(problem) for problem in problems), problems)


class InvalidInput(StackValidationFailed):
    """All faults of one input, reported together."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems), problems)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)

    @property
    def type_name(self) -> str:
        return "StackValidationFailed"
