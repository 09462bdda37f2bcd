"""A short run of the guided fuzzer; a long one: `python tests/fuzz/guided_fuzz.py --inputs 2000000 --keep FOLDER`."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("atheris", reason="atheris has no wheel for this Python")


@pytest.mark.slow
def test_inputs_that_reach_new_code_find_no_fault(tmp_path: Path) -> None:
    script = Path(__file__).with_name("guided_fuzz.py")
    command = [sys.executable, str(script), "--inputs", "3000", "--seconds", "60", "--keep", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "stat::number_of_executed_units" in done.stderr
    assert list(tmp_path.glob("failed-*")) == []
