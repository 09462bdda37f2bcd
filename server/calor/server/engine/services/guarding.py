"""Updates that are refused as a whole, before anything is done, for what a part of them would do (F124)."""

from collections.abc import Sequence
from dataclasses import replace

from calor.server.engine.contract.plan_views import PlannedStep
from calor.server.engine.contract.views import Guard
from calor.server.errors import BadRequest, Problem, UpdateRefused
from calor.server.plan import Action
from calor.server.template.nearest import did_you_mean


def guarded(steps: Sequence[PlannedStep], guard: Guard, allowed: Sequence[str]) -> list[PlannedStep]:
    """The steps, refused where the ``guard`` forbids them. ``allowed`` are the names of resources that may be replaced,
    as in `Environment.allowed`. Raises `BadRequest` for a name that no resource has."""
    known = list(dict.fromkeys(_name(step) for step in steps))
    for name in allowed:
        if name not in known:
            raise BadRequest(
                f"allow_replace: there is no resource {name!r}{did_you_mean(name, known)}; of nested stacks it is "
                "PARENT/NAME."
            )
    return [_judged(step, guard, allowed) for step in steps]


def _judged(step: PlannedStep, guard: Guard, allowed: Sequence[str]) -> PlannedStep:
    if guard is not Guard.DATA or not step.destroys_data or step.refused or _name(step) in allowed:
        return step
    return replace(step, refused="its data would be lost, and the request forbids that (guard: data)")


def check(steps: Sequence[PlannedStep]) -> None:
    """Raises `UpdateRefused` with every step that is refused."""
    problems = [_problem(step) for step in steps if step.refused]
    if problems:
        raise UpdateRefused(problems)


def _problem(step: PlannedStep) -> Problem:
    because = f", because {' and '.join(step.reasons)}" if step.reasons else ""
    message = f"The plan is to {step.action.value} this resource{because}; {step.refused}."
    if step.action is Action.REPLACE:
        message += f" To let it be replaced this once: --allow-replace {_name(step)}."
    return Problem(message=message, path=".".join(("resources", *step.path)), code="restricted-action")


def _name(step: PlannedStep) -> str:
    return "/".join(step.path)
