"""Output of a hook, read from its file: bounded, whatever was written, readable."""

import json
import os
import re
from typing import Any, Dict

LIMIT = 950000
ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def read_bounded(path: str, limit: int = LIMIT) -> str:
    """The text of a file; of a larger one its head and tail around a note of the original size. No more than
    ``limit`` bytes are ever in memory; bytes that are not UTF-8 become U+FFFD."""
    try:
        with open(path, "rb") as source:
            size = os.fstat(source.fileno()).st_size
            if size <= limit:
                return _text(source.read(limit))
            head = source.read(limit // 2)
            source.seek(size - limit // 2)
            tail = source.read(limit // 2)
    except FileNotFoundError:
        return ""
    note = "\n[... calor: {} of {} bytes left out ...]\n".format(size - len(head) - len(tail), size)
    return _text(head) + note + _text(tail)


def tail(path: str, limit: int = 2000) -> str:
    """The last ``limit`` bytes of a file that may still grow, from the start of a line where there is one."""
    try:
        with open(path, "rb") as source:
            size = os.fstat(source.fileno()).st_size
            source.seek(max(0, size - limit))
            data = source.read(limit)
    except FileNotFoundError:
        return ""
    if size > limit and b"\n" in data[:-1]:
        data = data.partition(b"\n")[2]
    return plain(_text(data))


def plain(text: str) -> str:
    """Without terminal escapes: what a program prints for a colour terminal, as a person would read it."""
    return ANSI.sub("", text)


def size_of(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def standard(stdout: str, stderr: str, code: int, declared: Dict[str, Any]) -> Dict[str, Any]:
    """The outputs of a run, small enough together to be signalled: stdout and stderr are read from the files with
    those paths, each with as much of head and tail as fits beside the declared outputs."""
    limit = LIMIT
    while True:
        found = dict(declared)
        found["deploy_stdout"] = read_bounded(stdout, limit)
        found["deploy_stderr"] = read_bounded(stderr, limit)
        found["deploy_status_code"] = code
        if size_of(found) <= LIMIT or limit < 2000:
            return found
        limit = limit * 9 // 20


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\x00", "\N{REPLACEMENT CHARACTER}")
