"""Pairs as CloudFormation writes them: tags, hints for the scheduler."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from calor.server.resources.declare import Alias


@dataclass(frozen=True, kw_only=True)
class Pair:
    key: Annotated[str, Alias("Key")]
    value: Annotated[str, Alias("Value")]


def as_map(pairs: Sequence[Pair] | None) -> dict[str, str]:
    return {pair.key: pair.value for pair in pairs or ()}
