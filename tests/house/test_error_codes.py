"""Each code of a problem has its section in the documentation, and each problem a code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("template", "tosca", "plan", "engine", "authoring")
COMPUTED = {"unknown-resource", "unknown-parameter", "unknown-condition", "function-arguments"}


def calls() -> Iterator[tuple[str, ast.Call]]:
    """The calls that make a problem of a user's input."""
    for room in ROOMS:
        for file in sorted((ROOT / "server/calor/server" / room).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Call) and _makes_a_problem(node.func):
                    yield f"{file.name}:{node.lineno}", node


def _makes_a_problem(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id == "Problem"
    if not isinstance(function, ast.Attribute):
        return False
    owner = ast.unparse(function.value)
    return (function.attr == "add" and owner.endswith("faults")) or (
        function.attr == "problem" and owner.endswith("source")
    )


def code_of(call: ast.Call) -> ast.expr | None:
    return next((word.value for word in call.keywords if word.arg == "code"), None)


def test_every_problem_has_a_code() -> None:
    assert [place for place, call in calls() if code_of(call) is None] == []


def test_every_code_is_documented_with_a_fix_and_no_other() -> None:
    written = {code.value for _, call in calls() if isinstance(code := code_of(call), ast.Constant)}
    source = (ROOT / "server/calor/server/template/conversion.py").read_text()
    written |= set(re.findall(r'code(?:: str)? ?= ?"([a-z-]+)"', source)) | COMPUTED
    text = (ROOT / "docs/errors.md").read_text()
    sections = re.findall(r"^## ([a-z-]+)$\n\n.+?\n\nFix: .+?$", text, re.MULTILINE)
    assert sorted(sections) == sorted(written)
