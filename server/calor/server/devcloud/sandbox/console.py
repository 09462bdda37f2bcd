"""Console logs: what a sandbox's first process and its children print, kept to a bounded size."""

from pathlib import Path

LIMIT = 2 << 20
_KEPT = LIMIT // 2


def read(path: Path, lines: int | None) -> str:
    """The last lines; all that is kept where ``lines`` is None."""
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    if lines is None:
        return text
    return "".join(text.splitlines(keepends=True)[-lines:]) if lines > 0 else ""


def trim(path: Path) -> bool:
    """Cut off the oldest half of a log above the limit. The sandbox writes on: its descriptor appends."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return False
    if size <= LIMIT:
        return False
    with path.open("r+b") as file:
        file.seek(size - _KEPT)
        file.readline()
        kept = file.read(_KEPT)
        file.seek(0)
        file.write(kept)
        file.truncate()
    return True
