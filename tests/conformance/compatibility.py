#!/usr/bin/env python3
"""`python tests/conformance/compatibility.py FILE…`: writes the table of agreement and the exceptions, from a run over
the files, into `docs/compatibility.md` between its markers."""

import json
import sys
from collections import Counter
from pathlib import Path

from judging import EXCEPTIONS, Exceptions, Verdict
from run import tallies, verdicts_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"
BEGIN, END = "<!-- made by tests/conformance/compatibility.py -->", "<!-- end -->"


def table(results: dict[str, list[Verdict]]) -> str:
    lines = ["| cases | kind | agree | differ as listed | differ |", "|---|---|---:|---:|---:|"]
    for name, verdicts in results.items():
        total: Counter[str] = Counter()
        rows = []
        for kind, counts in tallies(verdicts).items():
            total.update(counts)
            if "expected" in name or counts["excepted"] or counts["failed"]:
                rows.append(f"| | {kind} | {counts['passed']} | {counts['excepted']} | {counts['failed']} |")
        head = f"| {name} | all {sum(total.values())} | {total['passed']} | {total['excepted']} | {total['failed']} |"
        lines += [head, *rows]
    return "\n".join(lines)


def exceptions(results: dict[str, list[Verdict]]) -> str:
    seen = Counter(verdict.exception for verdicts in results.values() for verdict in verdicts)
    entries = json.loads(EXCEPTIONS.read_text())
    return "\n".join(f"- `{entry['name']}` ({seen[entry['name']]}): {entry['reason']}" for entry in entries)


def main() -> None:
    known = Exceptions()
    results = {Path(file).name: verdicts_of(Path(file), known) for file in sys.argv[1:]}
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    made = f"{BEGIN}\n\n{table(results)}\n\n### Differences that are meant\n\n{exceptions(results)}\n\n{END}"
    PAGE.write_text(before + made + after)


if __name__ == "__main__":
    main()
