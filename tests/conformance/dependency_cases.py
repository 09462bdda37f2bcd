"""Cases of one template each, with the edges that Heat finds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judging import Judge, Verdict, attempt

from calor.server.engine.revision.kinds import Kinds
from calor.server.errors import StackValidationFailed
from calor.server.plan import build_graph
from calor.server.resources import registry
from calor.server.template import Model, Pseudo, bind, parse_template

FAKE = "Test::"
KNOWN = registry.installed()


def hidden_needs(model: Model) -> dict[str, frozenset[str]]:
    """What types need though the template does not say so. Types that are not there count as opaque."""
    kinds = Kinds(KNOWN, model.environment, {})
    found = {name: kinds.find(item.type, name) for name, item in model.resources.items()}
    there = {name: kind for name, kind in found.items() if kind is not None}
    others = {name: (kind.name, model.resources[name].properties) for name, kind in there.items()}
    return {
        name: kind.hidden_dependencies(model.resources[name].properties, others) - {name}
        for name, kind in there.items()
    }


def edges(case: Mapping[str, Any]) -> Any:
    model = bind(
        parse_template(case["template"]),
        given=case.get("parameters") or case.get("params"),
        files=case.get("files"),
        pseudo=Pseudo(facade={}),
    )
    for item in model.resources.values():
        if not item.type.startswith((FAKE, "OS::", "AWS::")):
            raise StackValidationFailed(f"The resource type {item.type} is not known.")
    loose = frozenset(name for name, item in model.resources.items() if item.type == "Test::Loose")
    graph = build_graph(model, hidden_needs(model), loose)
    return {
        "edges": sorted([name, need] for name, needs in graph.requires.items() for need in needs),
        "creation_levels": graph.levels(),
        "required_by": {name: list(graph.required_by(name)) for name in graph.requires},
        "resources": case["expected"].get("resources"),
    }


def verdicts(cases: Sequence[Mapping[str, Any]], judge: Judge) -> Iterator[Verdict]:
    for case in cases:
        found = attempt(lambda case=case: edges(case))  # type: ignore[misc]
        yield judge.verdict(case["tag"], case["id"], case, case["expected"], [found])
