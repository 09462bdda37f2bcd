"""Tells what a piece of user-data is by how it begins, as cloud-init and Ignition do."""

import enum
import json
from email import message_from_bytes
from email.message import Message
from typing import Any

GZIP_MAGIC = b"\x1f\x8b"


class Kind(enum.Enum):
    """What user-data is. The value is the MIME type under which cloud-init takes it."""

    SCRIPT = "text/x-shellscript"
    CLOUD_CONFIG = "text/cloud-config"
    CLOUD_CONFIG_ARCHIVE = "text/cloud-config-archive"
    INCLUDE = "text/x-include-url"
    INCLUDE_ONCE = "text/x-include-once-url"
    BOOTHOOK = "text/cloud-boothook"
    PART_HANDLER = "text/part-handler"
    JINJA = "text/jinja2"
    MIME = "multipart/mixed"
    GZIP = "application/gzip"
    IGNITION = "application/vnd.coreos.ignition+json"
    OTHER = "text/plain"


BEGINNINGS = (
    (b"## template: jinja", Kind.JINJA),
    (b"#cloud-config-archive", Kind.CLOUD_CONFIG_ARCHIVE),
    (b"#cloud-config", Kind.CLOUD_CONFIG),
    (b"#cloud-boothook", Kind.BOOTHOOK),
    (b"#include-once", Kind.INCLUDE_ONCE),
    (b"#include", Kind.INCLUDE),
    (b"#part-handler", Kind.PART_HANDLER),
    (b"#!", Kind.SCRIPT),
)
"""In this order: a longer marker comes before the one that it begins with."""


def as_bytes(content: str | bytes) -> bytes:
    """Text as UTF-8; bytes as they are. Lone surrogates stand for the bytes that they were made of."""
    return content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content


def kind_of(content: str | bytes) -> Kind:
    data = as_bytes(content)
    if data.startswith(GZIP_MAGIC):
        return Kind.GZIP
    for beginning, kind in BEGINNINGS:
        if data.lstrip().startswith(beginning):
            return kind
    if mime_message(data) is not None:
        return Kind.MIME
    return Kind.IGNITION if ignition_document(data) is not None else Kind.OTHER


def mime_message(data: bytes) -> "Message[str, str] | None":
    """The parsed message if the data is MIME (multipart, or one part with a declared type), else None."""
    if data.lstrip()[:1] in (b"", b"#", b"{"):
        return None
    message = message_from_bytes(data.lstrip(b"\r\n"))
    declared = "mime-version" in message and "content-type" in message
    return message if message.is_multipart() or declared else None


def ignition_document(data: bytes) -> dict[str, Any] | None:
    """The parsed document if the data is an Ignition configuration, else None."""
    if data.lstrip()[:1] != b"{":
        return None
    try:
        document = json.loads(data)
    except ValueError:
        return None
    ignition = document.get("ignition") if isinstance(document, dict) else None
    return document if isinstance(ignition, dict) and "version" in ignition else None
