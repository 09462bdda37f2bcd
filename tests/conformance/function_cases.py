"""Cases of one function each: a template, fake resources, and what Heat's output ``o`` was."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judging import Found, Judge, Verdict, attempt, is_refusal

from calor.server.errors import EntityNotFound
from calor.server.template import Pseudo, bind, parse_environment, parse_template, resolve, reveal, select

ORDERS = 300
READY = ("CREATE", "ADOPT", "SUSPEND", "RESUME", "UPDATE", "CHECK", "SNAPSHOT")


class Fakes:
    """The fake resources of a case, as a scope."""

    def __init__(self, fakes: Mapping[str, Any]) -> None:
        self.fakes = fakes

    def reference(self, name: str) -> Any:
        if name not in self.fakes:
            return f"id-of-{name}"
        is_new = self.fakes[name]["state"].startswith("INIT")
        return name if is_new else self.fakes[name]["reference_id"]

    def attribute(self, name: str, path: Sequence[Any]) -> Any:
        fake = self.fakes[name]
        if path and (not isinstance(path[0], str) or path[0] not in {*fake["attributes"], "show"}):
            raise EntityNotFound(f"The resource {name} has no attribute {path[0]}.")
        action, _, status = fake["state"].partition("_")
        if action in ("INIT", "DELETE") or list(path[:1]) == ["show"]:
            return None
        if not path:
            return fake["attributes"] if action in READY and status != "FAILED" else None
        return select(fake["attributes"][path[0]], path[1:])


def value_of(case: Mapping[str, Any]) -> Any:
    is_hot = case["version_key"] == "heat_template_version"
    pseudo = Pseudo(
        stack_id="None",
        stack_name="mystack",
        project_id="project-1",
        region=None if is_hot else "ap-southeast-1",
        availability_zones=("az1", "az2"),
        facade=case.get("parent_resource"),
    )
    environment = parse_environment({"parameters": {}, "parameter_defaults": case.get("parameter_defaults", {})})
    template = parse_template(case["template"])
    model = bind(template, environment, case.get("params"), pseudo=pseudo, files=case.get("files"))
    if "o" not in model.outputs:
        return None
    return reveal(resolve(model.outputs["o"].value, Fakes(case.get("fakes", {}))))


def verdicts(cases: Sequence[Mapping[str, Any]], judge: Judge) -> Iterator[Verdict]:
    for case in cases:
        wanted = case["expected"]
        wanted = wanted if is_refusal(wanted) else wanted["value"]
        yield judge.verdict(case["function"], case["id"], case, wanted, _readings(case))


def _readings(case: Mapping[str, Any]) -> Iterator[Found]:
    """As written; with keys that are digits as the numbers that they may have been; with maps in another order: the
    files are JSON with sorted keys, in which neither can be seen."""
    yield attempt(lambda: value_of(case))
    yield attempt(lambda: value_of(_changed(case, None)))
    for seed in range(ORDERS):
        shuffler = random.Random(seed)
        yield attempt(lambda shuffler=shuffler: value_of(_changed(case, shuffler)))  # type: ignore[misc]


def _changed(case: Mapping[str, Any], shuffler: random.Random | None) -> Mapping[str, Any]:
    changed = {key: _tree(case[key], shuffler) for key in ("template", "params", "parameter_defaults") if key in case}
    return {**case, **changed}


def _tree(tree: Any, shuffler: random.Random | None) -> Any:
    if isinstance(tree, list):
        return [_tree(item, shuffler) for item in tree]
    if not isinstance(tree, dict):
        return tree
    items = [(key, _tree(value, shuffler)) for key, value in tree.items()]
    if shuffler is None:
        return {int(key) if key.isdigit() else key: value for key, value in items}
    shuffler.shuffle(items)
    return dict(items)
