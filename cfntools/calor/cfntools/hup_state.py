"""What cfn-hup has dealt with, on disk: a change is forgotten only once its action has succeeded (F088)."""

import json
import os
from typing import Any, Dict, NamedTuple, Optional

from calor.cfntools import durable
from calor.cfntools.digest import sha256_hex

FILE = "/var/lib/cfn-hup/data/metadata_db.json"


class Seen(NamedTuple):
    """The value of a hook's path when it was last dealt with; ``value`` None: there was none."""

    value: Any
    last_updated: str = ""


class State:
    """Of each hook (by its name and path) what was seen, and how often the action for the next change has been begun.
    Every change of it is on disk, over a power cut too, before the call returns."""

    def __init__(self, root: str) -> None:
        self._path = os.path.join(root, FILE.lstrip("/"))
        durable.make_directory(os.path.dirname(self._path))
        self._hooks: Dict[str, Dict[str, Any]] = durable.read_map(self._path).get("hooks") or {}

    @property
    def lock(self) -> str:
        return os.path.join(os.path.dirname(self._path), "lock")

    def seen(self, hook: str) -> Optional[Seen]:
        """None: never looked at."""
        found = self._hooks.get(hook)
        if found is None or "value" not in found:
            return None
        return Seen(found["value"], str(found.get("last_updated") or ""))

    def remember(self, hook: str, seen: Seen) -> None:
        wanted = {"value": seen.value, "last_updated": seen.last_updated}
        if self._hooks.get(hook) != wanted:
            self._hooks[hook] = wanted
            self._write()

    def begin(self, hook: str, value: Any) -> int:
        """Note that the action for this new value begins; how often that was so is the answer."""
        record = dict(self._hooks.get(hook) or {})
        digest = sha256_hex(json.dumps(value, sort_keys=True).encode("utf-8"))
        attempts = int(record["attempts"]) + 1 if record.get("pending") == digest else 1
        record.update(pending=digest, attempts=attempts)
        self._hooks[hook] = record
        self._write()
        return attempts

    def _write(self) -> None:
        durable.write_json(self._path, {"version": 1, "hooks": self._hooks})
