"""Cases that nobody has seen: made at random, answered by Heat itself."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests are no packages: this is how they share code

from beside_heat import KINDS, heats_python, judged, made

ENOUGH = 0.995
"""Of the cases: the rest are Heat's own accidents, which no rule names (docs/compatibility.md)."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_random_cases_agree_with_heat(kind: str) -> None:
    verdicts = judged(made(kind, 1, 600), heats_python())
    differences = [
        f"{verdict.ident} ({verdict.kind}): {verdict.difference}" for verdict in verdicts if verdict.difference
    ]
    assert len(verdicts) > 590
    assert len(differences) <= (1 - ENOUGH) * len(verdicts), "\n".join(differences)
