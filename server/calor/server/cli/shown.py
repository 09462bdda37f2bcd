"""What verbs print: tables, JSON, and text of strangers made harmless for a terminal."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:  # rich takes a sixth of a short command's time, and JSON needs none of it
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
STYLES = {"COMPLETE": "green", "FAILED": "red", "PROGRESS": "yellow"}
WIDE = 100_000
"""Columns of an output that is no terminal: lines are not broken there."""
MOST_LINES, MOST_CHARACTERS = 40, 4_000
"""Of one text in a table: each row of a table is as long as its longest, so that a large text takes minutes."""
JSON_HAS_ALL = "`--format json` shows all"

as_format = click.option(
    "-f", "--format", "shape", type=click.Choice(["table", "json"]), default="table", help="How to print it."
)


def console() -> "Console":
    from rich.console import Console

    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=WIDE, no_color=True)


def harmless(text: str) -> str:
    """Without terminal escapes and control characters but tabs and newlines."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", _ESCAPES.sub("", text.replace("\r\n", "\n")).replace("\r", "\n"))


def shortened(text: str, how: str = JSON_HAS_ALL) -> str:
    """The beginning of a text that is large, with its size and ``how`` all of it is seen; harmless for a terminal."""
    kept = "\n".join(text[:MOST_CHARACTERS].split("\n")[:MOST_LINES])
    if len(kept) == len(text):
        return harmless(text)
    return f"{harmless(kept)}\n[… {_size(text)} in all: {how}]"


def last_lines(text: str, how: str) -> list[str]:
    """The end of a text, after a line with its size and ``how`` all of it is seen if it is longer."""
    kept = text[-MOST_CHARACTERS:].splitlines()[-MOST_LINES:]
    if len(text) <= MOST_CHARACTERS and len(text.splitlines()) <= MOST_LINES:
        return harmless(text).splitlines()
    return [f"[… {_size(text)} in all: {how}]", *harmless("\n".join(kept)).splitlines()]


def _size(text: str) -> str:
    lines = len(text.splitlines())
    return f"{lines:,} line{'s' * (lines != 1)}, {len(text):,} characters"


def styled(status: str) -> "Text":
    """A status in its colour."""
    from rich.text import Text

    return Text(status, style=next((style for word, style in STYLES.items() if status.endswith(word)), ""))


def put_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def put_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(styled(str(cell)) if _is_status(cell) else Text(shortened(_text(cell))) for cell in row))
    _put(table)


def put_facts(facts: Mapping[str, Any], how: str = JSON_HAS_ALL) -> None:
    """Names and values, one a line; large ones as `shortened` has them."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, styled(value) if _is_status(value) else Text(shortened(_text(value), how)))
    _put(table)


def _put(table: "Table") -> None:
    """Where it is not read on a terminal, without the blanks that fill the last column."""
    out = console()
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as captured:
        out.print(table)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _is_status(value: Any) -> bool:
    return isinstance(value, str) and value.endswith(("_COMPLETE", "_FAILED", "_IN_PROGRESS"))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
