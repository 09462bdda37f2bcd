"""The reference pages that are made of the code: resource types and configuration."""

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from calor.server.config import sample
from calor.server.resources.base import ResourceType
from calor.server.resources.declare import attributes_of, schema_of
from calor.server.resources.registry import Types
from calor.server.template.properties import Constraint, PropertySchema

MADE = "<!-- Made by scripts/docs; edit the code instead. -->\n"


def pages() -> Mapping[str, str]:
    """File name to text."""
    return {"resource-types.md": resource_types(), "configuration.md": configuration()}


def configuration() -> str:
    head = (
        "`calor server` reads `/etc/calor/calor.conf` or each `--config-file`. All options, with their defaults"
        " (`calor config sample` prints the same). Other sections and options are ignored, but named in the log at the"
        " start, each with the nearest that there is; `calor config check`"
        " tells them beforehand, with every file that cannot be used; with `--connect` it also logs in at Keystone as"
        " the service user and opens the database."
    )
    return f"# Configuration\n\n{MADE}\n{head}\n\n```ini\n{sample().strip()}\n```\n"


def resource_types() -> str:
    types = Types()
    kinds = [found for name in types.names() if (found := types.get(name)) is not None]
    head = "Properties marked *replaces* cannot be changed in place: a change makes a new resource."
    return "\n".join(["# Resource types", "", MADE, head, "", *(line for kind in kinds for line in _section(kind))])


def _section(kind: ResourceType[Any]) -> Iterator[str]:
    yield from (f"## {kind.name}", "", (type(kind).__doc__ or "").strip(), "")
    schema = schema_of(kind.props)
    if schema:
        yield from ("| property | type | |", "|---|---|---|", *_rows(schema, ""), "")
    named = ", ".join(f"`{name}`" for name in sorted(attributes_of(kind)))
    yield from (f"Attributes: {named}", "")


def _rows(schema: Mapping[str, PropertySchema], prefix: str) -> Iterator[str]:
    for name, item in schema.items():
        path = f"{prefix}{name}"
        yield f"| `{path}` | {item.kind.value} | {_cell(item, top=not prefix)} |"
        if item.schema:
            yield from _rows(item.schema, f"{path}.")


def _cell(item: PropertySchema, *, top: bool) -> str:
    facts = [
        "required" if item.required else "",
        f"default `{item.default}`" if item.default not in (None, "", [], {}) else "",
        "*replaces*" if top and not item.update_allowed else "",
        *map(_constraint, item.constraints),
        "" if item.support.status == "SUPPORTED" else item.support.status.lower(),
    ]
    text = "; ".join(fact for fact in facts if fact)
    return (
        " ".join(f"{item.description} ({text})".split()).replace("|", "\\|")
        if item.description and text
        else text or item.description
    )


def _constraint(constraint: Constraint) -> str:
    fields = dataclasses.asdict(constraint)
    told = ", ".join(f"{name} {value}" for name, value in fields.items() if value is not None)
    return f"{type(constraint).__name__}: {told}".replace("|", "\\|")


def main() -> None:
    folder = Path(sys.argv[1])
    for name, text in pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
