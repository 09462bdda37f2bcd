"""Work that follows an answered call: durable, in order for each subject, taken up again after a restart.

A handler puts a task in the same transaction as the state it announces (``BUILD``, ``deleting``); the worker of the
subject carries it out and drops it in the same transaction as the outcome.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from calor.server.devcloud.calls import new_id
from calor.server.devcloud.documents import Doc, Documents, Key

log = logging.getLogger(__name__)

Step = Callable[[Doc], Awaitable[None]]
"""Carries out one task. It drops the task itself, in the transaction that records the outcome; raises only for bugs."""

RETRY_SECONDS = 5.0


def enqueue(docs: Documents, subject: str, what: str, **arguments: object) -> None:
    """Ask for ``what`` to be done to the subject (``server:ID``, ``volume:ID``) after all that was asked before."""
    docs.put("task", {"id": new_id(), "subject": subject, "what": what, "arguments": arguments, "order": _next(docs)})


def withdraw(docs: Documents, subject: str) -> None:
    """Drop what waits for a subject that is to be deleted."""
    for task in docs.where("task", subject=subject):
        docs.drop("task", task["id"])


def _next(docs: Documents) -> int:
    return max((task["order"] for task in docs.all("task")), default=0) + 1


class Workers:
    """One asyncio task per subject with something to do."""

    def __init__(self, docs: Documents, steps: Mapping[str, Step]) -> None:
        self._docs = docs
        self._steps = steps
        self._working: dict[str, asyncio.Task[None]] = {}
        self._open = False

    def start(self) -> None:
        """Take up what is unfinished and all that comes."""
        self._open = True
        self._docs.watch(self._told)
        for task in self._docs.all("task"):
            self._wake(task["subject"])

    async def stop(self) -> None:
        """Cut the work short: it is durable and idempotent, so the next start takes it up."""
        self._open = False
        working = list(self._working.values())
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)

    async def idle(self) -> None:
        """Wait until nothing is being worked at. For tests and a clean end."""
        while self._working:
            await asyncio.gather(*self._working.values(), return_exceptions=True)

    def _told(self, changed: frozenset[Key]) -> None:
        for kind, ident in changed:
            if kind == "task" and (task := self._docs.get("task", ident)) is not None:
                self._wake(task["subject"])

    def _wake(self, subject: str) -> None:
        if self._open and subject not in self._working:
            self._working[subject] = asyncio.create_task(self._work(subject), name=subject)

    async def _work(self, subject: str) -> None:
        try:
            while task := self._due(subject):
                await self._steps[task["what"]](task)
                if self._docs.get("task", task["id"]) is not None:
                    return  # parked: it was told never to get ready
        except Exception:
            log.exception("a task of the dev cloud failed; trying again", extra={"subject": subject})
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self._wake, subject)
        finally:
            del self._working[subject]

    def _due(self, subject: str) -> Doc | None:
        return min(self._docs.where("task", subject=subject), key=lambda task: int(task["order"]), default=None)
