"""What a plan says, as values: one entry for each resource of the whole tree that anything would be done to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calor.server.engine.contract.views import StackIdentity
from calor.server.plan import Action


@dataclass(frozen=True, kw_only=True)
class PropertyChange:
    """``old`` and ``new`` as they may be shown: secrets masked, the unknown as its text."""

    name: str
    old: Any
    new: Any
    forces_replacement: bool = False


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """``path`` are the resources' names from the root stack down. ``destroys_data``: a server, a volume or the like
    ends. ``retain``: the physical resource stays. ``refused``: the step is forbidden, and the update would fail."""

    path: tuple[str, ...]
    type: str
    action: Action
    reasons: tuple[str, ...] = ()
    changes: tuple[PropertyChange, ...] = ()
    physical_id: str | None = None
    destroys_data: bool = False
    retain: bool = False
    refused: str = ""


@dataclass(frozen=True, kw_only=True)
class PlanView:
    """``stack`` is None for one that is to be created; ``id`` binds an update to what was planned."""

    id: str
    stack: StackIdentity | None
    steps: Sequence[PlannedStep]

    @property
    def counts(self) -> Mapping[str, int]:
        return counts_of(self.steps)


def counts_of(steps: Sequence[PlannedStep]) -> Mapping[str, int]:
    """How many steps there are of each action, how many destroy data and how many are refused."""
    found = {action.value: sum(step.action is action for step in steps) for action in Action}
    return found | {
        "destroys_data": sum(step.destroys_data for step in steps),
        "refused": sum(bool(step.refused) for step in steps),
    }
