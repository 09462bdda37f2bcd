"""Group ``json-file``: the config maps paths to data; each is written as JSON."""

import json
import os
from typing import Any

from calor.agent.hooks import contract, working
from calor.cfntools import durable


class JsonFile(working.Working):
    """Heat's json-file hook. A file is replaced whole; one that was there keeps its mode and its owner."""

    group = "json-file"

    def check(self, job: contract.Job) -> None:
        for path in contract.as_document(job, self.group):
            if not os.path.isabs(path):
                raise contract.CannotRun("json-file hook: {} is not an absolute path".format(path), 1)

    def work(self, job: contract.Job) -> int:
        for path, data in contract.as_document(job, self.group).items():
            put(job.places.under(path), pretty(data), 0o644)
        return 0


def put(path: str, data: bytes, mode: int) -> None:
    """Write a file, whole or not at all. ``mode`` is that of a new one; what a link leads to is replaced, not the
    link."""
    target = os.path.realpath(path)
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    was = os.stat(target) if os.path.exists(target) else None
    durable.write(target, data, mode if was is None else was.st_mode & 0o7777)
    if was is not None and (was.st_uid, was.st_gid) != (os.geteuid(), os.getegid()):
        os.chown(target, was.st_uid, was.st_gid)


def pretty(data: Any) -> bytes:
    """JSON as Heat's hooks write it: indented by four, keys in order."""
    return json.dumps(data, indent=4, sort_keys=True, separators=(",", ": ")).encode("ascii")
