"""MIME multipart as cloud-init reads it: parts are taken apart and put together without changing a byte."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from email.generator import BytesGenerator
from email.message import Message
from io import BytesIO

from calor.cloudinit.content import Kind, as_bytes, kind_of, mime_message

STRUCTURAL_HEADERS = frozenset({"content-type", "content-disposition", "content-transfer-encoding", "mime-version"})


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part. ``content_type`` may carry parameters; ``filename`` None leaves the disposition out.

    ``headers`` are further ones that change how cloud-init takes the part (Merge-Type, X-Merge-Type …).
    """

    content: bytes
    content_type: str
    filename: str | None = None
    headers: Sequence[tuple[str, str]] = ()

    @property
    def label(self) -> str:
        """How error messages call it."""
        return self.filename or f"user data ({self.content_type.partition(';')[0]})"


@dataclass(frozen=True, kw_only=True)
class MimePart:
    """One entry of an OS::Heat::MultipartMime's ``parts``, its config already looked up."""

    config: str
    type: str = "text"
    subtype: str | None = None
    filename: str | None = None


def multipart_mime(parts: Sequence[MimePart]) -> str:
    """The config text of an OS::Heat::MultipartMime: ASCII, whatever the parts hold."""
    leaves: list[Part] = []
    for part in parts:
        nested = split(part.config) if part.type == "multipart" else ()
        subtype = part.subtype or "plain"
        alone = Part(content=as_bytes(part.config), content_type=f"text/{subtype}", filename=part.filename)
        leaves += nested or (alone,)
    return assemble(leaves).decode("ascii")


def split(content: str | bytes) -> Sequence[Part]:
    """The parts of MIME user-data, nested ones in their place, each with its decoded bytes; () if it is no MIME."""
    message = mime_message(as_bytes(content))
    if message is None:
        return ()
    return tuple(_leaf(leaf) for leaf in message.walk() if not leaf.is_multipart())


def user_parts(user_data: str | bytes) -> Sequence[Part]:
    """A user's data as parts: its own if it is MIME, else one whose type cloud-init finds out by its beginning."""
    content_type = Kind.GZIP.value if kind_of(user_data) is Kind.GZIP else Kind.OTHER.value
    return split(user_data) or (Part(content=as_bytes(user_data), content_type=content_type, filename=""),)


def assemble(parts: Iterable[Part]) -> bytes:
    """A multipart/mixed message. ASCII text goes as it is (7bit), everything else as base64."""
    parts = tuple(parts)
    digest = hashlib.sha256(b"\0".join(part.content for part in parts)).hexdigest()[:32]
    whole: Message[str, str] = Message()
    whole["Content-Type"] = f'multipart/mixed; boundary="=={digest}=="'
    whole["MIME-Version"] = "1.0"
    whole.set_payload([_message(part) for part in parts])
    out = BytesIO()
    BytesGenerator(out, mangle_from_=False, maxheaderlen=0).flatten(whole)
    return out.getvalue()


def _message(part: Part) -> "Message[str, str]":
    plain = _is_plain(part.content)
    message: Message[str, str] = Message()
    message["Content-Type"] = _with_charset(part, plain)
    message["MIME-Version"] = "1.0"
    message["Content-Transfer-Encoding"] = "7bit" if plain else "base64"
    if part.filename is not None:
        message.add_header("Content-Disposition", "attachment", filename=part.filename)
    for name, value in part.headers:
        message[name] = value
    message.set_payload(part.content.decode("ascii") if plain else base64.encodebytes(part.content).decode("ascii"))
    return message


def _is_plain(content: bytes) -> bool:
    """Whether the bytes survive a 7bit transfer: line ends are rewritten there, so a carriage return does not."""
    return content.isascii() and not any(control in content for control in (b"\r", b"\0"))


def _with_charset(part: Part, plain: bool) -> str:
    if not part.content_type.startswith("text/") or "charset=" in part.content_type.lower():
        return part.content_type
    return f'{part.content_type}; charset="{"us-ascii" if plain else "utf-8"}"'


def _leaf(message: "Message[str, str]") -> Part:
    payload = message.get_payload(decode=True)
    headers = tuple(
        (name, _one_line(value)) for name, value in message.items() if name.lower() not in STRUCTURAL_HEADERS
    )
    return Part(
        content=payload if isinstance(payload, bytes) else b"",
        content_type=_one_line(str(message.get("Content-Type", "text/plain"))),
        filename=message.get_filename(),
        headers=headers,
    )


def _one_line(value: object) -> str:
    return " ".join(str(value).split())
