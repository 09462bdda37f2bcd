"""A short run of the fuzzer; the long one is `python tests/fuzz/fuzz_language.py --inputs 1000000`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # tests are no packages: this is how they share code

from fuzz_language import inputs, run


def test_two_thousand_odd_inputs_are_answered_or_refused(tmp_path: Path) -> None:
    figures = run(seed=1, count=2000, folder=tmp_path / "kept")
    assert figures["failed"] == []
    assert figures["outcomes"]["accepted"] > 100
    assert sum(count for stage, count in figures["outcomes"].items() if stage != "refused: parse") > 500


def test_the_same_seed_makes_the_same_inputs() -> None:
    assert repr(list(inputs(5, 200))) == repr(list(inputs(5, 200)))
    assert repr(list(inputs(5, 200))) != repr(list(inputs(6, 200)))
