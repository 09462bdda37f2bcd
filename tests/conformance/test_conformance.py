"""The language against what Heat answered, by `run.py`, whose rules hold for cases that it has not seen."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")
SHARED = Path(__file__).resolve().parents[3] / "shared"
CASES = ["function-cases", "parameter-cases", "property-cases", "dependency-cases"]


def run(*files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUN), *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the reference facts are not beside the checkout")
@pytest.mark.parametrize("name", CASES)
def test_heats_cases_agree(name: str) -> None:
    done = run(SHARED / "reference" / f"{name}.json")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="the reference facts are not beside the checkout")
def test_the_server_answers_as_heat_did() -> None:
    done = run(SHARED / "reference" / "api-cases.json")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="the corpus is not beside the checkout")
def test_templates_in_use_read_as_heat_reads_them() -> None:
    done = run(SHARED / "corpus" / "expected.json")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_difference_is_shown_and_ends_with_1(tmp_path: Path) -> None:
    template = {"heat_template_version": "2018-08-31", "outputs": {"o": {"value": {"list_join": ["-", ["a", "b"]]}}}}
    case = {"id": "x1", "function": "list_join", "template": template, "version_key": "heat_template_version"}
    good, bad = {**case, "expected": {"value": "a-b"}}, {**case, "id": "x2", "expected": {"value": "ab"}}
    file = tmp_path / "cases.json"
    file.write_text(json.dumps({"cases": [good, bad]}))
    done = run(file)
    assert done.returncode == 1
    assert "x2 (list_join)" in done.stdout and "x1" not in done.stdout


def test_every_exception_has_its_reason_in_the_documentation() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "compatibility.md").read_text()
    entries = json.loads(RUN.with_name("exceptions.json").read_text())
    assert [entry["name"] for entry in entries if f"`{entry['name']}`" not in text or entry["reason"] not in text] == []
