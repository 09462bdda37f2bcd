#!/usr/bin/env python3
"""`python tests/conformance/run.py [--report FILE] FILE…`: runs cases of Heat's answers against Calor.

A FILE has the shape of one of `reference/*-cases.json` or of `corpus/expected.json` (beside which the corpus lies).
Prints passed, excepted and failed for each kind, the first differences, and ends with 1 if any failed. Differences
that are meant are listed by kind, with their reasons, in `exceptions.json`.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import api_scenarios
import corpus_records
import dependency_cases
import function_cases
import parameter_cases
import property_cases
from judging import Exceptions, Judge, Verdict

SHOWN = 5
SUITES: Mapping[str, Callable[[Any, Judge], Iterator[Verdict]]] = {
    "function": function_cases.verdicts,
    "parameter": parameter_cases.verdicts,
    "property": property_cases.verdicts,
    "dependency": dependency_cases.verdicts,
}


def suite_of(case: Mapping[str, Any]) -> str:
    """Which suite a case belongs to, by its shape."""
    if "function" in case:
        return "function"
    if "kind" in case:
        return "parameter"
    return "property" if "properties" in case and "schema" in case else "dependency"


def verdicts_of(path: Path, exceptions: Exceptions) -> list[Verdict]:
    content = json.loads(path.read_text())
    if "templates" in content:
        root = Path(content.get("corpus", path.parent))
        return list(corpus_records.verdicts(root, content["templates"], Judge("corpus", exceptions)))
    if "scenarios" in content:
        return list(api_scenarios.verdicts(content["scenarios"], Judge("api", exceptions)))
    cases = content["cases"] if isinstance(content, dict) else content
    found = []
    for suite, verdicts in SUITES.items():
        mine = [case for case in cases if suite_of(case) == suite]
        found.extend(verdicts(mine, Judge(suite, exceptions)))
    return found


def tallies(verdicts: list[Verdict]) -> dict[str, Counter[str]]:
    """Kind → passed, excepted, failed."""
    found: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        state = "failed" if verdict.difference else "excepted" if verdict.exception else "passed"
        found.setdefault(verdict.kind, Counter())[state] += 1
    return dict(sorted(found.items()))


def show(path: Path, verdicts: list[Verdict]) -> None:
    total: Counter[str] = Counter()
    print(f"{path.name}: {len(verdicts)} cases")
    print(f"  {'kind':<32} {'passed':>7} {'excepted':>9} {'failed':>7}")
    for kind, counts in tallies(verdicts).items():
        total.update(counts)
        print(f"  {kind:<32} {counts['passed']:>7} {counts['excepted']:>9} {counts['failed']:>7}")
    print(f"  {'all':<32} {total['passed']:>7} {total['excepted']:>9} {total['failed']:>7}")
    for name, count in sorted(Counter(verdict.exception for verdict in verdicts if verdict.exception).items()):
        print(f"  exception {name}: {count}")
    failed = [verdict for verdict in verdicts if verdict.difference]
    for verdict in failed[:SHOWN]:
        print(f"  {verdict.ident} ({verdict.kind}):\n      {verdict.difference}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs cases of Heat's answers against Calor.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--report", type=Path, help="write all verdicts there as JSON")
    options = parser.parse_args()
    exceptions = Exceptions()
    report: dict[str, list[dict[str, str]]] = {}
    for path in options.files:
        verdicts = verdicts_of(path, exceptions)
        show(path, verdicts)
        report[path.name] = [vars(verdict) for verdict in verdicts]
    if options.report:
        options.report.write_text(json.dumps(report))
    return int(any(verdict["difference"] for verdicts in report.values() for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
