"""Throws broken and odd templates at the language until something other than an answer or a refusal comes out.

    python tests/fuzz/fuzz_language.py --inputs 1000000 --seed 1

Inputs are texts (seeds with lines, words and bytes changed) and trees (functions nested at random). An input counts as
failed if it raises anything but an error of ours, or takes more than a second of CPU; it is then written to a folder,
and the end is 1. Memory is watched over the whole run. The same seed makes the same inputs.
"""

import argparse
import contextlib
import json
import random
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from calor.server.engine.revision.blueprint import draw, validate
from calor.server.errors import CalorError
from calor.server.resources.registry import installed
from calor.server.template import NothingKnown, bind, mask, parse_environment, parse_template, resolve
from calor.server.template.functions.versions import HOT_TABLES

SECONDS = 1.0
MEGABYTES = 200
KNOWN = installed()
FILES = {"f": "text", "n.yaml": "heat_template_version: 2021-04-16\nparameters: {p: {type: string}}\n"}
FUNCTIONS = sorted(set(HOT_TABLES["2018-08-31"].functions) - {"yaql"})
SEEDS = (
    """heat_template_version: 2021-04-16
parameters:
  p: {type: string, default: x, constraints: [{length: {min: 1, max: 9}}, {allowed_pattern: "[a-z]+"}]}
  l: {type: comma_delimited_list, default: "a,b"}
conditions:
  c: {equals: [{get_param: p}, x]}
resources:
  a: {type: OS::Heat::RandomString, condition: c, properties: {length: 8}}
  b:
    type: OS::Heat::Value
    depends_on: a
    properties: {value: {str_replace: {template: $v, params: {$v: {get_attr: [a, value]}}}}}
outputs:
  o: {value: {if: [c, {get_resource: b}, none]}}
""",
    """AWSTemplateFormatVersion: 2010-09-09
Parameters: {P: {Type: String, Default: x, NoEcho: true}}
Mappings: {M: {k: {v: 1}}}
Resources:
  R: {Type: OS::Heat::Value, Properties: {value: !Join [",", [!Ref P, !FindInMap [M, k, v]]]}}
Outputs: {O: {Value: !Sub "${R} ${P}"}}
""",
    """parameters: {a: 1, b: [x]}
parameter_defaults: {c: null}
parameter_merge_strategies: {b: merge}
resource_registry:
  My::*: OS::Heat::*
  resources: {a: {hooks: [pre-create], "My::T": n.yaml, restricted_actions: replace}}
encrypted_param_names: [a]
event_sinks: []
""",
    '{"heat_template_version": "2018-08-31", "resources": {"g": {"type": "OS::Heat::ResourceGroup", "properties": '
    '{"count": 2, "resource_def": {"type": "OS::Heat::Value", "properties": {"value": "%index%"}}}}}}',
    "a: &a [x, *a]\nb: {<<: *a}\n? [k]\n: !!python/object:os.system {}\n--- !!binary |\n  aGk=\n",
)
WORDS = (
    "null", "true", "~", "0", "-1", "1e309", ".nan", "1:30", "0755", "2001-01-01", "''", "[]", "{}", "*a", "&a", "<<",
    "!Ref", "get_param", "get_attr", "Ref", "Fn::If", "resources", "OS::Heat::None", "%index%", "${P}", "\t",
    "\ud800", "ü", "\x00", "!!set", ": ", "- ", "|", ">", "?", "#", "{get_param: p}", "9" * 400, "a" * 300,
)  # fmt: skip
LEAVES: Sequence[Any] = (
    *(None, True, 0, -1, 2**70, 1.5, float("nan"), "", "p", "a", "c", "x", "a.b", "ü", [], {}, "0", "1", "[a]*", ["a"]),
)


def texts(dice: random.Random) -> str:
    """A seed with a few changes."""
    text = dice.choice(SEEDS)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 6))):
        text = dice.choice(CHANGES)(text, dice)
    return text


def _word(text: str, dice: random.Random) -> str:
    start = dice.randrange(len(text) + 1)
    return text[:start] + dice.choice(WORDS) + text[start + dice.randint(0, 6) :]


def _line(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    match dice.randrange(4):
        case 0:
            del lines[one]
        case 1:
            lines.insert(other, lines[one])
        case 2:
            lines[one], lines[other] = lines[other], lines[one]
        case _:
            lines[one] = " " * dice.randint(0, 4) + lines[one].lstrip()
    return "\n".join(lines)


def _cut(text: str, dice: random.Random) -> str:
    start = dice.randrange(len(text) + 1)
    return text[:start] + text[start + dice.randint(1, 30) :]


def _byte(text: str, dice: random.Random) -> str:
    start = dice.randrange(len(text) + 1)
    return text[:start] + chr(dice.choice((dice.randrange(128), dice.randrange(0x3000)))) + text[start + 1 :]


def _nest(text: str, dice: random.Random) -> str:
    return text + dice.choice(("[", "{a: ", "- ", "? ")) * dice.randint(1, 200)


CHANGES: Sequence[Callable[[str, random.Random], str]] = (_word, _word, _word, _line, _line, _cut, _byte, _nest)


def trees(dice: random.Random) -> dict[str, Any]:
    """A template as clients send it: calls of functions, most of them well formed, with any arguments."""
    kind = dice.choice(("string", "json", "number", "boolean", "comma_delimited_list"))
    condition = dice.choice(
        (True, {"not": "d"}, {"and": ["d", "d"]}, {"equals": [dice.choice(LEAVES), {"get_param": "p"}]}, tree(dice, 1))
    )
    return {
        "heat_template_version": dice.choice(("2018-08-31", "2021-04-16", "2021-04-16", "rocky")),
        "parameters": {"p": {"type": kind, **({"default": dice.choice(LEAVES)} if dice.random() < 0.3 else {})}},
        "conditions": {"c": condition, "d": {"equals": [{"get_param": "p"}, dice.choice(LEAVES)]}},
        "resources": {
            "a": {"type": "OS::Heat::Value", "properties": {"value": dice.choice(LEAVES)}},
            "b": {
                "type": dice.choice(("OS::Heat::Value", "OS::Heat::Value", "n.yaml", "OS::Heat::RandomString", "X::Y")),
                "properties": {dice.choice(("value", "value", "p", "length")): tree(dice, 3)},
            },
        },
        "outputs": {"o": {"value": tree(dice, 3)}},
    }


def tree(dice: random.Random, depth: int) -> Any:
    if depth == 0 or dice.random() < 0.2:
        return dice.choice(LEAVES)
    if dice.random() < 0.7:
        return call(dice, depth - 1)
    if dice.random() < 0.7:
        return [tree(dice, depth - 1) for _ in range(dice.randint(0, 3))]
    return {dice.choice(("a", "b", "x y", "0", "ü")): tree(dice, depth - 1) for _ in "ab"}


def call(dice: random.Random, depth: int) -> dict[str, Any]:
    """One function; once in ten its arguments are anything."""
    name = dice.choice(FUNCTIONS)
    if dice.random() < 0.1:
        return {name: tree(dice, depth)}

    def some() -> Any:
        return tree(dice, depth)

    one, other, number = some(), some(), dice.choice((0, 1, -1, "1"))
    texts, pairs = {"template": "$a b $b", "params": {"$a": one, "$b": "b"}}, [{"a": 1, "b": some()}, {"b": other}]
    shapes: dict[str, Any] = {
        "get_param": dice.choice(("p", ["p", number], ["p", "a", "b"], "OS::stack_name")),
        "get_resource": "a",
        "get_attr": dice.choice((["a", "value"], ["a", "value", number, one], ["a"])),
        "get_file": "f",
        "str_replace": texts,
        "str_replace_strict": texts,
        "str_replace_vstrict": texts,
        "str_split": dice.choice(([",", "a,b", number], [",", one])),
        "list_join": [",", [one, "b"], some()],
        "list_concat": [[one], [other]],
        "list_concat_unique": [[one, one], [other]],
        "map_merge": pairs,
        "map_replace": [{"a": one, "b": 1}, {"keys": {"a": "c"}, "values": {1: other}}],
        "repeat": {"template": {"%x%": one}, "for_each": {"%x%": dice.choice((["a", "b"], other))}},
        "digest": [dice.choice(("md5", "sha512", "none")), one],
        "filter": [["a", None], ["a", one, None]],
        "make_url": {"scheme": "http", "host": dice.choice(("h", "::1", one)), "port": number, "query": {"a": other}},
        "if": ["c", one, other],
        "equals": [one, other],
        "not": dice.choice(("c", one)),
        "and": ["c", "d"],
        "or": ["c", one],
        "contains": [one, [other, "a"]],
        "resource_facade": dice.choice(("metadata", "deletion_policy", "update_policy")),
    }
    return {name: shapes.get(name, one)}


def inputs(seed: int, count: int) -> Iterator[Any]:
    """The same for the same seed, whatever came before."""
    for number in range(count):
        dice = random.Random(seed * 1_000_003 + number)
        yield texts(dice) if dice.random() < 0.6 else trees(dice)


def tried(given: Any) -> str:
    """What became of an input: ``refused`` with the stage, or ``accepted``. Anything else is raised."""
    stage = "parse"
    with contextlib.suppress(CalorError):
        parse_environment(given)
    try:
        template = parse_template(given)
        stage = "bind"
        model = bind(template, given={}, files=FILES, allow_missing=True)
        stage = "resolve"
        for definition in model.resources.values():
            mask(resolve(definition.properties, NothingKnown()))
        for output in model.outputs.values():
            mask(resolve(output.value, NothingKnown()))
        stage = "check"
        validate(draw(model, KNOWN, FILES, []))
    except CalorError:
        return f"refused: {stage}"
    return "accepted"


def run(seed: int, count: int, folder: Path | None) -> dict[str, Any]:
    """The figures of one run."""
    outcomes: Counter[str] = Counter()
    failed, slowest, began = list[str](), 0.0, time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number, given in enumerate(inputs(seed, count)):
        start = time.process_time()
        try:
            outcomes[tried(given)] += 1
        except Exception:  # what is looked for: the outermost frame notes it and goes on
            failed.append(f"input {number} of seed {seed}:\n{traceback.format_exc(limit=-3)}")
            _keep(folder, seed, number, given)
        took = time.process_time() - start
        slowest = max(slowest, took)
        if took > SECONDS:
            failed.append(f"input {number} of seed {seed} took {took:.2f} s of CPU")
            _keep(folder, seed, number, given)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if grown > MEGABYTES:
        failed.append(f"the process grew by {grown:.0f} MB")
    return {
        "seed": seed,
        "inputs": count,
        "seconds": round(time.monotonic() - began, 1),
        "slowest_cpu_seconds": round(slowest, 3),
        "grown_megabytes": round(grown, 1),
        "outcomes": dict(sorted(outcomes.items())),
        "failed": failed[:20],
        "failures": len(failed),
    }


def _keep(folder: Path | None, seed: int, number: int, given: Any) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        text = given if isinstance(given, str) else json.dumps(given)
        (folder / f"{seed}-{number}").write_text(text, encoding="utf-8", errors="surrogatepass")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="Folder for inputs that failed.")
    given = parser.parse_args()
    figures = run(given.seed, given.inputs, given.keep)
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")
    return 1 if figures["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
