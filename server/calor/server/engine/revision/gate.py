"""Templates that may be costly pass a worker process before the server reads them itself.

The worker reads and binds the template within its limits and answers nothing; what passed is read again in a thread,
beside the event loop, which takes no more than it took there. Small templates without expressions of a user's own are
read at once, in place.
"""

import asyncio
import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from calor.server.engine.contract.views import StackRequest
from calor.server.engine.revision import requests
from calor.server.engine.revision.costs import is_heavy
from calor.server.engine.revision.requests import Wish
from calor.server.engine.revision.template_type import is_template_name
from calor.server.engine.revision.translating import Translator
from calor.server.engine.settings import Settings
from calor.server.engine.workers.workers import Workers
from calor.server.errors import CalorError
from calor.server.template import Environment, Limits, Pseudo, Template, bind, parse_template

T = TypeVar("T")


class Gate:
    def __init__(self, workers: Workers, settings: Settings) -> None:
        self._workers = workers
        self._translator = Translator(workers.limits)
        self._settings = settings

    async def read(self, request: StackRequest) -> Wish:
        """See `requests.read`. A template in TOSCA is read as its translation."""
        request = await self.translated(request)
        if not self._is_heavy(request):
            return requests.read(request, self._settings)
        await self._workers.run(examine, request, self._settings.max_template_size)
        wish = await asyncio.to_thread(requests.read, request, self._settings)
        return replace(wish, is_heavy=True)

    async def translated(self, request: StackRequest) -> StackRequest:
        """The request with its template as HOT, where it is TOSCA."""
        return await self._translator.translated(request, self._settings.max_template_size)

    async def passed(self, request: StackRequest) -> bool:
        """Whether a request that is a part only (PATCH) was heavy; it has passed the worker then."""
        heavy = self._is_heavy(request)
        if heavy:
            await self._workers.run(examine, request, self._settings.max_template_size)
        return heavy

    async def beside(self, wish: Wish, work: Callable[[], T]) -> T:
        """Work on what was read: in place, or in a thread where it may take long."""
        return await asyncio.to_thread(work) if wish.is_heavy else work()

    async def close(self) -> None:
        await self._workers.close()
        await self._translator.close()

    def _is_heavy(self, request: StackRequest) -> bool:
        parts = [request.template, request.environment, request.parameters, *request.files.values()]
        return is_heavy(parts, self._settings.worker_threshold)


def examine(request: StackRequest, max_template_size: int) -> None:
    """In a worker: do what the server will do. What is wrong is found again, and told, by the server."""
    limits = Limits(size=max_template_size)
    template = _quietly(lambda: parse_template(request.template or {}, limits=limits, lenient=True))
    environment = _quietly(lambda: requests.environment_of(request)) or Environment()
    if template is not None:
        _bind(template, environment, request, request.parameters)
    for name in filter(is_template_name, request.files):
        nested = _quietly(functools.partial(parse_template, request.files[name], limits=limits, lenient=True))
        if nested is not None:
            _bind(nested, environment, request, {})


def _bind(template: Template, environment: Environment, request: StackRequest, given: Mapping[str, Any]) -> None:
    pseudo = Pseudo(facade={})
    _quietly(
        lambda: bind(
            template,
            environment,
            given,
            pseudo=pseudo,
            files=request.files,
            allow_missing=True,
            ignore_unknown=True,
            faults=[],
        )
    )


def _quietly(work: Callable[[], T]) -> T | None:
    try:
        return work()
    except CalorError:
        return None
