"""Templates that people wrote with one to three things changed at random, as trees or (now and then) as text."""

import functools
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import varied_texts
import yaml
from varied_trees import CHANGES, Change

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
LARGEST = 40_000
"""Bytes of a template that is taken."""


@functools.cache
def pool() -> Sequence[tuple[str, str, Any]]:
    """Name, kind and recorded inputs of the templates that are changed: accepted by Heat, with all files there."""
    records = json.loads((CORPUS / "expected.json").read_text())["templates"]
    return [
        (name, record["kind"], record.get("inputs_used", {}))
        for name, record in records.items()
        if record["kind"] in ("hot", "cfn") and _is_usable(record) and (CORPUS / name).stat().st_size < LARGEST
    ]


def _is_usable(record: Any) -> bool:
    stages = record["stages"]
    is_local = all(file.startswith("corpus:") for file in record.get("files", ()))
    is_accepted = stages.get("validate_with_none_for_unknown", stages.get("validate")) == "ok"
    return is_local and is_accepted and stages.get("files") == "ok" and "environment_used" not in record


def case(dice: random.Random, ident: str) -> dict[str, Any]:
    """A case without its record: ``origin`` is the template that was changed, ``text`` what became of it."""
    name, kind, inputs = dice.choice(pool())
    text = (CORPUS / name).read_text(errors="replace")
    if dice.random() < 0.2:
        text, changes = varied_texts.changed(dice, text)
    else:
        text, changes = _changed(dice, text)
    return {"id": ident, "kind": kind, "origin": name, "text": text, "changes": changes, "inputs": inputs}


class Loader(yaml.CSafeLoader):
    """Reads a date as the text that it is."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _changed(dice: random.Random, text: str) -> tuple[str, list[str]]:
    try:
        tree = json.loads(text)
    except ValueError:
        tree = json.loads(json.dumps(yaml.load(text, Loader)))
    change = Change(dice, tree)
    changes = []
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3))):
        kind = dice.choice(CHANGES)
        kind(change)
        changes.append(kind.__name__)
    if dice.random() < 0.2:
        return json.dumps(change.tree, indent=dice.choice((None, 1))), changes
    return yaml.dump(change.tree, Dumper=Dumper, sort_keys=False, allow_unicode=True), changes
