"""What runs print, while they run: taken in pieces, each byte once, secrets hidden, so much and no more kept."""

import base64
import binascii
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.exc import IntegrityError

from calor.server.engine.durable.clock import Clock
from calor.server.engine.durable.hub import Hub
from calor.server.engine.durable.journal import Journal
from calor.server.engine.durable.reasons import bounded
from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.guests.masking import Masker
from calor.server.engine.guests.run_secrets import RunSecrets
from calor.server.errors import BadRequest
from calor.server.store import pieces, queries
from calor.server.store.database import Database
from calor.server.store.guest_models import OutputPiece
from calor.server.store.rows import DeploymentRow, PieceRow
from calor.server.store.writes import Insert

STREAMS = ("stdout", "stderr")
LONGEST = 256 * 1024
"""Bytes of one piece that are taken."""
KEPT = 512 * 1024
"""Bytes of one stream of one attempt that are kept: its tail."""
REMEMBERED = 2048
TAIL = 2000
LAST_PIECES = 4


@dataclass
class Known:
    """What is remembered of an attempt: how far each stream came, from where it is kept, what was printed last."""

    ends: dict[str, int]
    kept_from: dict[str, int]
    tail: str = ""
    at: datetime | None = None


@dataclass(frozen=True)
class Place:
    """Where a run belongs."""

    stack_id: str | None
    root_id: str | None
    resource_name: str


class RunOutputs:
    def __init__(
        self, database: Database, journal: Journal, hub: Hub, sealing: Sealing, clock: Clock, secrets: RunSecrets
    ) -> None:
        self._database = database
        self._journal = journal
        self._hub = hub
        self._sealing = sealing
        self._clock = clock
        self._secrets = secrets
        self._known: OrderedDict[tuple[str, int], Known] = OrderedDict()
        self._places: OrderedDict[str, Place] = OrderedDict()

    async def take(
        self, row: DeploymentRow, attempt: int, sent: Sequence[Mapping[str, Any]], *, final: bool
    ) -> Mapping[str, int]:
        """Store what is new; the offset of each stream from which to go on. Raises `BadRequest`."""
        known = await self._of(row.run_id, attempt)
        masker = await self._secrets.of(row)
        for one in sent:
            stream, begin, data = _piece(one)
            await self._add(row, attempt, known, masker, stream, begin, data, final=final)
        return {stream: known.ends.get(stream, 0) for stream in STREAMS}

    async def take_whole(self, row: DeploymentRow, outputs: Mapping[str, Any]) -> None:
        """The output of a run that ended, where none of it came before: its agent does not stream."""
        if not any(outputs.get(f"deploy_{stream}") for stream in STREAMS):
            return
        known = await self._of(row.run_id, 0)
        if known.ends or await pieces.is_known(self._database, row.run_id):
            return
        masker = await self._secrets.of(row)
        for stream in STREAMS:
            data = str(outputs.get(f"deploy_{stream}") or "").encode("utf-8", "replace")
            for begin in range(max(0, len(data) - KEPT), len(data), LONGEST):
                part = data[begin : begin + LONGEST]
                await self._add(row, 0, known, masker, stream, begin, part, final=True)

    def last(self, run_id: str) -> tuple[str, datetime] | None:
        """What a run printed last, and when, if this process has heard of it."""
        for (other, _), known in reversed(self._known.items()):
            if other == run_id and known.at is not None:
                return known.tail, known.at
        return None

    async def ending(self, run_id: str) -> str:
        """What a run printed last, whoever took it."""
        known = self.last(run_id)
        if known is not None:
            return known[0]
        rows = await pieces.last(self._database, run_id, LAST_PIECES)
        return b"".join(self.shown(row) for row in rows).decode("utf-8", "replace")[-TAIL:]

    def shown(self, row: PieceRow) -> bytes:
        return base64.b64decode(self._sealing.value(row.data))

    async def forget_older(self, age: timedelta) -> None:
        await pieces.forget_older(self._database, self._clock.now() - age)

    async def _add(
        self,
        row: DeploymentRow,
        attempt: int,
        known: Known,
        masker: Masker,
        stream: str,
        begin: int,
        data: bytes,
        *,
        final: bool,
    ) -> None:
        if begin > known.ends.get(stream, 0):  # another process may have taken what is missing here
            known.ends |= await pieces.ends(self._database, row.run_id, attempt)
        end = known.ends.get(stream, 0)
        if begin < end:
            data, begin = data[end - begin :], end
        shown, length = masker.piece(data, final=final, after_gap=begin > end)
        if not length:
            return
        now, place = self._clock.now(), await self._place(row)
        values = {
            "run_id": row.run_id,
            "attempt": attempt,
            "stream": stream,
            "begin": begin,
            "end": begin + length,
            "deployment_id": row.id,
            "stack_id": place.stack_id,
            "root_id": place.root_id,
            "resource_name": place.resource_name[:255],
            "data": self._sealing.secret(base64.b64encode(shown).decode("ascii")),
            "at": now,
        }
        try:
            await self._journal.commit([Insert(OutputPiece, values)])
        except IntegrityError:  # the same piece came twice at once
            known.ends |= await pieces.ends(self._database, row.run_id, attempt)
            return
        known.ends[stream] = begin + length
        known.tail, known.at = (known.tail + shown.decode("utf-8", "replace"))[-TAIL:], now
        await self._prune(row.run_id, attempt, known, stream)
        self._hub.wake(("output", place.root_id))
        self._hub.wake(("output", row.id))

    async def _prune(self, run_id: str, attempt: int, known: Known, stream: str) -> None:
        first = known.ends[stream] - KEPT
        if first > known.kept_from.get(stream, 0) + KEPT // 4:
            await pieces.cut(self._database, run_id, attempt, stream, first)
            known.kept_from[stream] = first

    async def _of(self, run_id: str, attempt: int) -> Known:
        key = (run_id, attempt)
        known = self._known.get(key)
        if known is None:
            ends = await pieces.ends(self._database, run_id, attempt)
            known = self._known.setdefault(key, Known(ends, {}))
        self._known.move_to_end(key)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return known

    async def _place(self, row: DeploymentRow) -> Place:
        ident = row.source_id or row.id
        known = self._places.get(ident)
        if known is None:
            resource = await queries.resource_of_deployment(self._database, row.project_id, ident)
            if resource is None:
                known = Place(None, None, row.name or row.id)
            else:
                known = Place(resource.stack_id, resource.root_id, resource.name)
            self._places[ident] = known
            while len(self._places) > REMEMBERED:
                self._places.popitem(last=False)
        return known


def _piece(sent: Mapping[str, Any]) -> tuple[str, int, bytes]:
    stream, begin, data = sent.get("stream"), sent.get("offset"), sent.get("data")
    if stream not in STREAMS or not isinstance(begin, int) or begin < 0 or not isinstance(data, str):
        raise BadRequest(f"A piece of output needs a stream ({' or '.join(STREAMS)}), an offset and data in base64.")
    try:
        read = base64.b64decode(data, validate=True)
    except binascii.Error as exc:
        raise BadRequest(bounded(f"The data of a piece is no base64: {exc}.")) from exc
    if len(read) > LONGEST:
        raise BadRequest(f"A piece of output may have {LONGEST} bytes, this one has {len(read)}.")
    return str(stream), begin, read
