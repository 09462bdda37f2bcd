"""One API call as the services see it, and how they answer or refuse."""

import datetime
import secrets
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from calor.server.devcloud.access import ApiError, Token
from calor.server.devcloud.cloud import Cloud
from calor.server.devcloud.documents import Doc, Documents


@dataclass(frozen=True, kw_only=True)
class Call:
    """A request with its caller. Handlers are plain functions: they decide inside one transaction, and what must
    happen afterwards is a task document that the workers take up."""

    cloud: Cloud
    request: web.Request
    caller: Token | None
    body: Any

    @property
    def docs(self) -> Documents:
        return self.cloud.docs

    @property
    def token(self) -> Token:
        if self.caller is None:
            raise ApiError(401, "The request you have made requires authentication.")
        return self.caller

    @property
    def project_id(self) -> str:
        return self.token.project_id

    @property
    def path(self) -> Mapping[str, str]:
        return self.request.match_info

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query

    def url(self, prefix: str) -> str:
        """The absolute URL of one of our services, as this client reaches us."""
        return f"{self.request.scheme}://{self.request.host}{prefix}"

    def part(self, name: str) -> Doc:
        """The one object of the body that the APIs wrap in its name."""
        part = self.body.get(name) if isinstance(self.body, dict) else None
        if not isinstance(part, dict):
            raise ApiError(400, f"Invalid input: '{name}' is a required property", "HTTPBadRequest")
        return part

    def sees(self, doc: Doc) -> bool:
        return self.token.is_admin or doc.get("project_id") == self.project_id


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a handler gives back when it is not 200 with a JSON body."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[Call], Any]
AsyncHandler = Callable[[Call], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, kw_only=True)
class Route:
    """``stream`` handlers are coroutines that read and write bodies themselves."""

    method: str
    path: str
    handler: Handler
    public: bool = False
    stream: bool = False


def get(path: str, handler: Handler, *, public: bool = False) -> Route:
    return Route(method="GET", path=path, handler=handler, public=public)


def post(path: str, handler: Handler, *, public: bool = False) -> Route:
    return Route(method="POST", path=path, handler=handler, public=public)


def put(path: str, handler: Handler) -> Route:
    return Route(method="PUT", path=path, handler=handler)


def patch(path: str, handler: Handler) -> Route:
    return Route(method="PATCH", path=path, handler=handler)


def delete(path: str, handler: Handler) -> Route:
    return Route(method="DELETE", path=path, handler=handler)


@dataclass(frozen=True, kw_only=True)
class Service:
    """One OpenStack service: where it lies on the listener, what it serves, how it words a refusal."""

    type: str
    name: str
    prefix: str
    endpoint: str
    """The path of the catalog's URL, with ``{project_id}`` where the service has it."""
    routes: tuple[Route, ...]
    refuse: Callable[[ApiError], web.Response]
    aliases: tuple[str, ...] = ()


def now() -> str:
    """The time as OpenStack writes it, in whole seconds."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def now_micro() -> str:
    """The time as Cinder and Keystone write it, without zone."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def new_id() -> str:
    return str(uuid.uuid4())


def new_hex() -> str:
    return uuid.uuid4().hex


def new_password() -> str:
    return secrets.token_urlsafe(12)


def is_uuid(text: object) -> bool:
    try:
        return bool(uuid.UUID(str(text)))
    except ValueError:
        return False


def page(call: Call, docs: list[Doc], *, default_limit: int = 1000) -> list[Doc]:
    """One page by ``limit`` and ``marker``; the documents are in the order to list."""
    marker = call.query.get("marker")
    if marker:
        places = [i for i, doc in enumerate(docs) if doc["id"] == marker]
        if not places:
            raise ApiError(400, f"marker [{marker}] not found")
        docs = docs[places[0] + 1 :]
    try:
        limit = int(call.query.get("limit", default_limit))
    except ValueError as exc:
        raise ApiError(400, "limit must be a whole number") from exc
    return docs[: min(limit, default_limit)] if limit > 0 else docs
