"""A template's resources and what each needs, as a picture in text: DOT or Mermaid."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from calor.server.engine.planning.inside import outlined
from calor.server.engine.revision.blueprint import Blueprint
from calor.server.resources.base import Registry


@dataclass(frozen=True)
class Picture:
    """One template: its nodes by name with their types, the edges (who, needs whom), and what is nested in a node."""

    types: Mapping[str, str]
    edges: tuple[tuple[str, str], ...]
    nested: Mapping[str, "Picture"]


def picture(blueprint: Blueprint, registry: Registry, depth: int) -> Picture:
    """``depth``: how many levels of nested templates and members of groups are drawn; what cannot be read, or depends
    on what is not known here, is a node only."""
    names = list(blueprint.model.resources)
    edges = tuple((name, need) for name in names for need in sorted(blueprint.graph.requires[name]))
    nested = {}
    for name, kind in blueprint.kinds.items():
        if depth > 0 and kind.is_nested:
            child = outlined(blueprint, name, kind, registry)
            if child is not None:
                nested[name] = picture(child, registry, depth - 1)
    return Picture({name: blueprint.definition(name).type for name in names}, edges, nested)


def dot(drawn: Picture, title: str) -> str:
    """For Graphviz. An arrow leads from a resource to what it needs."""
    lines = [f"digraph {_quoted(title)} {{", "  rankdir=BT;", '  node [shape=box, fontname="sans-serif"];']
    lines += _dot_body(drawn, "", 1)
    return "\n".join([*lines, "}"])


def _dot_body(drawn: Picture, above: str, level: int) -> Iterator[str]:
    pad = "  " * level
    for name, kind in drawn.types.items():
        label = f'"{_escaped(name)}\\n{_escaped(kind)}"'
        if name in drawn.nested:
            yield f"{pad}subgraph {_quoted(f'cluster_{above}{name}')} {{"
            yield f"{pad}  label={label};"
            yield f"{pad}  {_quoted(above + name)} [label={label}, style=dashed];"
            yield from _dot_body(drawn.nested[name], f"{above}{name}/", level + 1)
            yield f"{pad}}}"
        else:
            yield f"{pad}{_quoted(above + name)} [label={label}];"
    for name, need in drawn.edges:
        yield f"{pad}{_quoted(above + name)} -> {_quoted(above + need)};"


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def mermaid(drawn: Picture, title: str) -> str:
    """For Markdown that shows Mermaid. An arrow leads from a resource to what it needs."""
    return "\n".join(["---", f"title: {_plain(title)}", "---", "flowchart BT", *_mermaid_body(drawn, "n", 1)])


def _mermaid_body(drawn: Picture, above: str, level: int) -> Iterator[str]:
    pad = "  " * level
    idents = {name: f"{above}{number}" for number, name in enumerate(drawn.types)}
    for name, kind in drawn.types.items():
        label = f'"{_plain(name)}<br/>{_plain(kind)}"'
        if name in drawn.nested:
            yield f"{pad}subgraph {idents[name]}[{label}]"
            yield from _mermaid_body(drawn.nested[name], f"{idents[name]}_", level + 1)
            yield f"{pad}end"
        else:
            yield f"{pad}{idents[name]}[{label}]"
    for name, need in drawn.edges:
        yield f"{pad}{idents[name]} --> {idents[need]}"


def _plain(text: str) -> str:
    """Mermaid reads HTML in labels, and quotes end them."""
    return re.sub(r'[<>"&#\n]', lambda found: f"#{ord(found.group())};", text)


WRITERS: Mapping[str, Callable[[Picture, str], str]] = {"dot": dot, "mermaid": mermaid}
