"""The text of a multipart message made of configs."""

import email
from collections.abc import Iterable
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

KNOWN_STARTS = (
    ("#include-once", "x-include-once-url"),
    ("#include", "x-include-url"),
    ("#!", "x-shellscript"),
    ("#cloud-config-archive", "cloud-config-archive"),
    ("#cloud-config", "cloud-config"),
    ("#cloud-boothook", "cloud-boothook"),
    ("#part-handler", "part-handler"),
    ("#upstart-job", "upstart-job"),
    ("## template: jinja", "jinja2"),
)


def subtype_of(text: str) -> str:
    """The text subtype by which cloud-init knows what starts like ``text``."""
    return next((subtype for start, subtype in KNOWN_STARTS if text.startswith(start)), "plain")


def multipart(parts: Iterable[tuple[str, str, str | None, str | None]]) -> str:
    """One message of (text, type, subtype, file name). A part of type ``multipart`` is a message whose own parts are
    taken over one by one."""
    message = MIMEMultipart()
    for text, kind, subtype, filename in parts:
        if kind == "multipart":
            inner = email.message_from_string(text)
            for part in inner.get_payload() if inner.is_multipart() else [inner]:
                message.attach(part)
        else:
            message.attach(_text(text, subtype or subtype_of(text), filename))
    return message.as_string()


def _text(text: str, subtype: str, filename: str | None) -> MIMEText:
    part = MIMEText(text, subtype, "us-ascii" if text.isascii() else "utf-8")
    if filename:
        part.add_header("Content-Disposition", "attachment", filename=filename)
    return part
