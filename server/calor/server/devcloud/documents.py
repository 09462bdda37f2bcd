"""The dev cloud's memory: JSON documents by kind and id, held in memory and made durable by SQLite.

A change happens inside `Documents.transaction`, which holds no ``await``: it is committed as a whole before the answer
leaves, or not at all. A killed process loses nothing that was answered (WAL: the data is with the kernel once the
commit returns).
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Doc = dict[str, Any]
"""A document; never changed in place: `Documents.put` a new one."""

Key = tuple[str, str]


class Documents:
    """All documents of one cloud. One process at a time: the file is locked while open."""

    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600)
        self._base = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._base.execute("PRAGMA locking_mode=EXCLUSIVE")
        self._base.execute("PRAGMA journal_mode=WAL")
        self._base.execute("PRAGMA synchronous=NORMAL")
        self._base.execute(
            "CREATE TABLE IF NOT EXISTS documents"
            " (kind TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID"
        )
        self._kinds: dict[str, dict[str, Doc]] = {}
        for kind, ident, body in self._base.execute("SELECT kind, id, body FROM documents"):
            self._kinds.setdefault(kind, {})[ident] = json.loads(body)
        self._before: dict[Key, Doc | None] | None = None
        self._watchers: list[Callable[[frozenset[Key]], None]] = []

    def close(self) -> None:
        self._base.close()

    def watch(self, told: Callable[[frozenset[Key]], None]) -> None:
        """Call ``told`` with the changed keys after each commit."""
        self._watchers.append(told)

    def get(self, kind: str, ident: str) -> Doc | None:
        return self._kinds.get(kind, {}).get(ident)

    def all(self, kind: str) -> list[Doc]:
        """In the order of creation."""
        return list(self._kinds.get(kind, {}).values())

    def where(self, kind: str, **fields: Any) -> list[Doc]:
        """The documents whose top-level fields equal ``fields``."""
        wanted = fields.items()
        return [doc for doc in self._kinds.get(kind, {}).values() if all(doc.get(k) == v for k, v in wanted)]

    def put(self, kind: str, doc: Doc) -> Doc:
        self._remember(kind, doc["id"])
        self._kinds.setdefault(kind, {})[doc["id"]] = doc
        return doc

    def change(self, kind: str, ident: str, **fields: Any) -> Doc:
        """Put the document again with ``fields`` replaced. KeyError if it is not there."""
        return self.put(kind, {**self._kinds[kind][ident], **fields})

    def drop(self, kind: str, ident: str) -> None:
        """Forget a document; what is gone already is fine."""
        if self.get(kind, ident) is not None:
            self._remember(kind, ident)
            del self._kinds[kind][ident]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what the block changes, or undo it when the block raises."""
        if self._before is not None:
            yield  # part of the transaction around it
            return
        self._before = {}
        try:
            yield
        except BaseException:
            self._undo()
            raise
        changed = self._commit()
        for told in self._watchers:
            told(changed)

    def _remember(self, kind: str, ident: str) -> None:
        if self._before is None:
            raise RuntimeError("a document may be changed inside a transaction only")
        self._before.setdefault((kind, ident), self.get(kind, ident))

    def _undo(self) -> None:
        for (kind, ident), doc in (self._before or {}).items():
            if doc is None:
                self._kinds[kind].pop(ident, None)
            else:
                self._kinds[kind][ident] = doc
        self._before = None

    def _commit(self) -> frozenset[Key]:
        changed = frozenset(self._before or ())
        if changed:
            try:
                self._write(changed)
            except sqlite3.Error:
                self._base.execute("ROLLBACK")
                self._undo()
                raise
        self._before = None
        return changed

    def _write(self, changed: frozenset[Key]) -> None:
        self._base.execute("BEGIN")
        for kind, ident in changed:
            doc = self.get(kind, ident)
            if doc is None:
                self._base.execute("DELETE FROM documents WHERE kind = ? AND id = ?", (kind, ident))
            else:
                self._base.execute("REPLACE INTO documents VALUES (?, ?, ?)", (kind, ident, json.dumps(doc)))
        self._base.execute("COMMIT")
