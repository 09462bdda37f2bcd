"""Fetching what files and sources name: an address, or a path of this machine."""

import hashlib
import os
import re
import shutil
from typing import Any, Optional
from urllib.parse import unquote, urlsplit

from calor.cfntools import httpclient, retrying, s3
from calor.cfntools.authentication import Authentication

PATIENCE = 60.0
TIMEOUT = 1800.0
MAX_SIZE = 8 * 1024 * 1024 * 1024
LENGTHS = {32: "md5", 40: "sha1", 64: "sha256", 96: "sha384", 128: "sha512"}


class CannotFetch(Exception):
    """What was named is not to be had, or is not what it should be; the message says where and why."""


class Source:
    """Where something is, as whom it is asked for, and its checksum if one is given (``sha256:HEX``, ``sha256=HEX``
    or the hexadecimal digits alone)."""

    def __init__(self, url: str, name: Any = None, checksum: Any = None) -> None:
        self.url = url
        self.name = str(name) if name else None
        self.checksum = str(checksum) if checksum else None

    def save(self, path: str, authentication: Authentication) -> None:
        """Write it to ``path``. A server that is down for a moment is asked again. Raises CannotFetch, OSError, and
        AuthenticationRefused."""
        local = self._local()
        if local is not None:
            shutil.copyfile(local, path)
        else:
            self._download(path, authentication)
        if self.checksum:
            _check(self.url, path, self.checksum)

    def _local(self) -> Optional[str]:
        if os.path.isabs(self.url):
            return self.url
        try:
            parts = urlsplit(self.url)
        except ValueError as exc:
            raise CannotFetch("{}: {}".format(self.url, exc)) from exc
        return unquote(parts.path) if parts.scheme == "file" else None

    def _download(self, path: str, authentication: Authentication) -> None:
        if urlsplit(self.url).scheme.lower() not in ("http", "https"):
            raise CannotFetch("{} is neither an http(s) address nor an absolute path".format(self.url))
        account = authentication.account(self.url, self.name)

        def attempt() -> httpclient.Answer:
            with open(path, "wb") as sink:
                return retrying.check(
                    account.get(self.url, TIMEOUT, httpclient.Sink(sink, MAX_SIZE), authentication.trust)
                )

        try:
            answer = retrying.patiently(attempt, PATIENCE)
        except httpclient.TransportError as exc:
            raise CannotFetch("{}: {}".format(self.url, exc)) from exc
        if not answer.ok:
            words = s3.reason(answer)
            raise CannotFetch("{} answered {}{}".format(self.url, answer.status, " " + words if words else ""))


def _check(url: str, path: str, checksum: str) -> None:
    kind, _, digits = re.sub("^([A-Za-z0-9-]+)[:=]", r"\1:", checksum.strip()).rpartition(":")
    kind = kind.lower().replace("-", "") or LENGTHS.get(len(digits), "")
    if kind not in LENGTHS.values():
        raise CannotFetch("{}: checksum {!r} has no known kind (md5 to sha512)".format(url, checksum))
    digest = hashlib.new(kind)
    with open(path, "rb") as content:
        for block in iter(lambda: content.read(1024 * 1024), b""):
            digest.update(block)
    if digest.hexdigest() != digits.lower():
        raise CannotFetch("{}: its {} is {}, not {}".format(url, kind, digest.hexdigest(), digits))
