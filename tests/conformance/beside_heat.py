#!/usr/bin/env python3
"""`python tests/conformance/beside_heat.py [--cases N] [--seed S] [KIND …]`: random cases, answered by Heat and by us.

Cases of the kinds functions, parameters, properties and dependencies are made at random; of the kind templates they are
real ones (of the corpus beside the checkout) with something changed. The package `openstack-heat` answers them
(installed once, in a virtualenv of its own: `benchmarks/heat_package.py`), and we are judged by the rules of `run.py`.
Prints the tallies and the first differences; ends with 1 if there is any. The same seed makes the same cases.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import varied_dependencies
import varied_functions
import varied_parameters
import varied_properties
import varied_templates
from judging import Exceptions, Verdict
from run import show, verdicts_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KINDS: Mapping[str, Callable[[random.Random, str], dict[str, Any]]] = {
    "functions": varied_functions.case,
    "parameters": varied_parameters.case,
    "properties": varied_properties.case,
    "dependencies": varied_dependencies.case,
    "templates": varied_templates.case,
}


def made(kind: str, seed: int, count: int) -> list[dict[str, Any]]:
    return [KINDS[kind](random.Random(f"{kind} {seed} {number}"), f"{seed}-{number}") for number in range(count)]


def heats_python() -> str:
    """Installs Heat where it is not there yet."""
    command = [sys.executable, "-m", "benchmarks.heat_package"]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def judged(cases: Sequence[Mapping[str, Any]], python: str) -> list[Verdict]:
    """The verdicts on cases that Heat answers first."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "asked.json"), Path(folder, "answered.json")
        asked.write_text(json.dumps({"cases": cases, "corpus": str(varied_templates.CORPUS)}))
        command = [python, "-W", "ignore", str(HERE / "heat_answers.py"), str(asked), str(answered)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "benchmarks")}
        subprocess.run(command, env=environment, check=True, stderr=subprocess.DEVNULL)
        return verdicts_of(answered, Exceptions())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all without")
    parser.add_argument("--cases", type=int, default=1000, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    if unknown := set(wanted.kinds) - set(KINDS):
        parser.error(f"there is no kind {', '.join(sorted(unknown))}")
    python, differ = heats_python(), False
    for kind in wanted.kinds or KINDS:
        verdicts = judged(made(kind, wanted.seed, wanted.cases), python)
        show(Path(kind), verdicts)
        differ = differ or any(verdict.difference for verdict in verdicts)
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
