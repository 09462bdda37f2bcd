"""Bodies that go to disk: written beside their place and moved there whole."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

CHUNK = 256 * 1024


@dataclass(frozen=True)
class Upload:
    size: int
    md5: str
    sha512: str


async def receive(request: web.Request, target: Path, *, accept: Callable[[Upload], Any] | None = None) -> Upload:
    """Write the request's body to ``target``. ``accept`` may raise to refuse it before it takes its place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + "." + os.urandom(4).hex() + ".partial")
    md5, sha512, size = hashlib.md5(usedforsecurity=False), hashlib.sha512(), 0
    try:
        with partial.open("wb") as file:
            async for chunk in request.content.iter_chunked(CHUNK):
                file.write(chunk)
                md5.update(chunk)
                sha512.update(chunk)
                size += len(chunk)
        upload = Upload(size, md5.hexdigest(), sha512.hexdigest())
        if accept is not None:
            accept(upload)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return upload
