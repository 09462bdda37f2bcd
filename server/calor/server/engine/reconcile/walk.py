"""The order of work of one stack: what is ready, what waits for what. Pure; grows while it is walked."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass


class Task(enum.Enum):
    APPLY = "apply"
    REMOVE = "remove"
    VISIT = "visit"


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """One piece of work. ``subject`` is a resource's name (`APPLY`) or a row's id; ``name`` the resource's name:
    two pieces of one name never run at once."""

    name: str
    subject: str
    task: str

    @classmethod
    def apply(cls, name: str) -> "Key":
        return cls(name, name, Task.APPLY.value)

    @classmethod
    def remove(cls, name: str, row_id: str) -> "Key":
        return cls(name, row_id, Task.REMOVE.value)

    @classmethod
    def visit(cls, name: str, row_id: str) -> "Key":
        return cls(name, row_id, Task.VISIT.value)


class Walk:
    """Keys with what they require. A requirement that is not in the walk counts as done."""

    def __init__(self) -> None:
        self._open: dict[Key, set[Key]] = {}
        self._waiters: dict[Key, list[Key]] = {}
        self._known: set[Key] = set()
        self._done: set[Key] = set()
        self._ready: dict[Key, None] = {}

    def add(self, key: Key, requires: Iterable[Key]) -> None:
        """Requirements may be added later than what requires them only within one `extend`."""
        self.extend({key: set(requires)})

    def extend(self, keys: "dict[Key, set[Key]]") -> None:
        fresh = {key: requires for key, requires in keys.items() if key not in self._known}
        self._known.update(fresh)
        for key, requires in fresh.items():
            blocking = {one for one in requires if one in self._known and one not in self._done and one != key}
            if not blocking:
                self._ready[key] = None
                continue
            self._open[key] = blocking
            for one in blocking:
                self._waiters.setdefault(one, []).append(key)

    def take_ready(self) -> list[Key]:
        ready, self._ready = list(self._ready), {}
        return ready

    def put_back(self, key: Key) -> None:
        self._ready[key] = None

    def require(self, key: Key, more: Iterable[Key]) -> bool:
        """Let a ready key wait for what has come up meanwhile; False when there is nothing left to wait for."""
        blocking = {one for one in more if one in self._known and one not in self._done and one != key}
        if blocking:
            self._open[key] = blocking
            for one in blocking:
                self._waiters.setdefault(one, []).append(key)
        return bool(blocking)

    def claim(self, finished: Key, worked: "set[Key]") -> "dict[Key, set[Key]]":
        """Keys that wait for ``finished`` and for nothing else but ``worked``, taken out of the walk with what they
        wait for: whoever has done those without telling goes on with these. `reclaim` puts them back."""
        found = {}
        for waiter in self._waiters.get(finished, ()):
            blocking = self._open.get(waiter)
            if blocking is not None and blocking <= worked:
                found[waiter] = self._open.pop(waiter)
        return found

    def reclaim(self, keys: "dict[Key, set[Key]]") -> None:
        for key, blocking in keys.items():
            left = blocking - self._done
            if left:
                self._open[key] = left
            else:
                self._ready[key] = None

    def cut_knot(self) -> bool:
        """Rows of different revisions may need each other in a circle: let those with the fewest needs go."""
        if not self._open:
            return False
        least = min(len(needs) for needs in self._open.values())
        for key in [key for key, needs in self._open.items() if len(needs) == least]:
            del self._open[key]
            self._ready[key] = None
        return True

    def done(self, key: Key) -> None:
        if key not in self._known or key in self._done:
            return
        self._done.add(key)
        for waiter in self._waiters.pop(key, ()):
            blocking = self._open.get(waiter)
            if blocking is None:
                continue
            blocking.discard(key)
            if not blocking:
                del self._open[waiter]
                self._ready[waiter] = None

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    @property
    def unfinished(self) -> bool:
        return len(self._done) < len(self._known)
