"""Requests whose template is TOSCA: translated to HOT in a closed process (`calor.server.tosca.closing`)."""

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calor.server.engine.contract.views import StackRequest
from calor.server.engine.revision import requests
from calor.server.engine.workers.worker import LENGTH, Outcome, packed, unpacked
from calor.server.engine.workers.workers import WorkerKind, WorkerLimits, Workers
from calor.server.errors import RequestLimitExceeded
from calor.server.template import Limits, plain, reveal
from calor.server.tosca import check_installed, is_tosca
from calor.server.tosca.answer import Translation
from calor.server.tosca.closed import translate

CLOSED = WorkerKind(preparation="calor.server.tosca.closing:close", is_single_use=True, kept_variables=("PYTHONPATH",))
"""One template a process: the libraries remember types, and no tenant's may meet another's."""


class Translator:
    def __init__(self, limits: WorkerLimits) -> None:
        self._workers = Workers(limits, CLOSED)

    async def translated(self, request: StackRequest, max_template_size: int) -> StackRequest:
        """The request with HOT for a template, where it is TOSCA. Raises `InvalidInput` with all that is wrong,
        `RequestLimitExceeded`, and `NotSupported` where the libraries are not installed."""
        if not is_tosca(request.template):
            return request
        check_installed()
        assert request.template is not None
        environment = requests.environment_of(request)
        given = {**environment.parameter_defaults, **environment.parameters, **request.parameters}
        limits = Limits(size=max_template_size)
        work = _work(request.template, request.files, given, "template", limits)
        made: Translation = await self._workers.run(*work)
        return replace(request, template=made.template, files=made.files, template_name="translation")

    async def close(self) -> None:
        await self._workers.close()


def translate_here(
    text: str, files: Mapping[str, str], given: Mapping[str, Any], file: str, limits: Limits
) -> Translation:
    """The same for one's own files, without an event loop. Raises as the other."""
    check_installed()
    within = WorkerLimits()
    function, *arguments = _work(text, files, given, file, limits)
    done = subprocess.run(
        CLOSED.command(within),
        input=packed((function, arguments)),
        stdout=subprocess.PIPE,
        env=CLOSED.environment(),
        timeout=within.wall_seconds,
        check=False,
    )
    if len(done.stdout) < LENGTH.size:
        raise RequestLimitExceeded(f"{file} could not be translated: the process ended with {done.returncode}.")
    word, value = unpacked(done.stdout[LENGTH.size :])
    if Outcome(word) is Outcome.RAISED:
        raise value
    if Outcome(word) is Outcome.OUT_OF_MEMORY:
        raise RequestLimitExceeded(f"worker_memory: {file} takes more than {within.memory >> 20} MiB of memory.")
    assert isinstance(value, Translation)
    return value


def _work(
    template: Mapping[str, Any] | str, files: Mapping[str, str], given: Mapping[str, Any], file: str, limits: Limits
) -> tuple[Any, ...]:
    tree = template if isinstance(template, str) else plain(template)
    return (translate, tree, dict(files), reveal(plain(dict(given))), file, limits)
