"""The texts that come with a template, and what stands for a file that is none."""

import codecs

_MARKED = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class NotText(str):
    """The place of a file whose bytes are no text: whoever uses the file is told so."""

    __slots__ = ()


class WithNul(NotText):
    """Of a file that is text but for a NUL character, which a database stores in no text."""

    __slots__ = ()


def text_of(content: bytes) -> str:
    """UTF-8, or what a byte order mark says; `NotText` for anything else."""
    mark, encoding = next(((mark, name) for mark, name in _MARKED if content.startswith(mark)), (b"", "utf-8"))
    try:
        text = content[len(mark) :].decode(encoding)
    except UnicodeDecodeError:
        return NotText()
    return WithNul() if has_nul(text) else text


def has_nul(text: str) -> bool:
    """Whether no database can store it as text."""
    return "\0" in text


def refusal(name: str, text: str) -> str:
    """Why the file's ``text`` is none."""
    if isinstance(text, WithNul):
        return f"the file {name!r} is not text: it holds a NUL character."
    return f"the file {name!r} is not text: neither UTF-8 nor UTF-16 with a byte order mark."
