"""Cases that nobody has seen: made at random, answered by Heat itself."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests are no packages: this is how they share code

from beside_heat import KINDS, heats_python, judged, made
from judging import Verdict
from varied_templates import CORPUS

ENOUGH = 0.995
"""Of the cases: the rest are Heat's own accidents, which no rule names (docs/compatibility.md)."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "templates"])
def test_random_cases_agree_with_heat(kind: str) -> None:
    agree(judged(made(kind, 1, 600), heats_python()))


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout")
def test_changed_templates_agree_with_heat() -> None:
    agree(judged(made("templates", 1, 120), heats_python()), of=300)  # of those accepted, several fields


def agree(verdicts: Sequence[Verdict], of: int = 590) -> None:
    differences = [
        f"{verdict.ident} ({verdict.kind}): {verdict.difference}" for verdict in verdicts if verdict.difference
    ]
    assert len(verdicts) > of
    assert len(differences) <= (1 - ENOUGH) * len(verdicts), "\n".join(differences)
