"""docs/field-reports.md tells the truth: each test that it names is there and has the report's number in it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(r"^\| (F\d{3}) \| (.+?) \| (.+) \|$", (ROOT / "docs/field-reports.md").read_text(), re.MULTILINE)
REPORTS = ROOT.parent / "shared/field-reports.md"
SECTIONS = "ABCDEFGHKN"


def source_of(path: Path, name: str) -> str:
    """A test function with its decorators, empty where there is none of that name."""
    text = path.read_text() if path.exists() else ""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    return ""


@pytest.mark.parametrize(("number", "shown_by"), [(number, cell) for number, _, cell in ROWS])
def test_a_report_is_shown_by_a_test_or_says_why_not_yet(number: str, shown_by: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", shown_by)
    assert named or re.match(r"not yet: \S", shown_by)
    for path, name in named:
        source = source_of(ROOT / path, name)
        assert source, f"{number}: there is no {path}::{name}"
        assert number.lower() in source.lower(), f"{path}::{name} does not say that it shows {number}"


def test_every_report_is_listed_once() -> None:
    """All of the sections that have been worked through; of the others those that are shown already."""
    numbers = [number for number, _, _ in ROWS]
    assert numbers == sorted(set(numbers))
    assert len(numbers) > 60
    if REPORTS.exists():
        parts = re.split(r"^## ", REPORTS.read_text(), flags=re.MULTILINE)
        reports = {part[:2]: re.findall(r"^### (F\d{3})", part, re.MULTILINE) for part in parts}
        assert set(numbers) <= {number for found in reports.values() for number in found}
        assert {number for letter in SECTIONS for number in reports[f"{letter}."]} <= set(numbers)
