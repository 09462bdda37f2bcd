"""What a guest's result means: COMPLETE or FAILED, and why. Pure (agents.json, ``signal_handling_in_engine``)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calor.server.engine.durable.reasons import bounded

FINISHED, INTERRUPTED, CANCELLED = "finished", "interrupted", "cancelled"
STANDARD = ("deploy_stdout", "deploy_stderr", "deploy_status_code")

_GENERAL = re.compile(r"\S* hook: (exit code|killed by signal) \d+")
"""How a hook's reason begins that says no more than the status code and the last lines do."""


@dataclass(frozen=True)
class Outcome:
    status: str
    reason: str
    outputs: Mapping[str, Any]


def of_run(
    body: Mapping[str, Any], declared: Sequence[Mapping[str, Any]], *, cancelled_by: str | None = None
) -> Outcome:
    """The result of our own agent: only a run that began and ended with 0 is a success (design §9.5). A run that
    had ended before its cancellation came counts as it ended."""
    sent = body.get("outputs")
    given: Mapping[str, Any] = sent if isinstance(sent, Mapping) else {}
    outputs = kept(given, declared)
    if body.get("outcome") == INTERRUPTED and cancelled_by is not None:
        return Outcome("FAILED", bounded(f"cancelled by {cancelled_by}{_last_lines(given)}"), outputs)
    if body.get("outcome") != FINISHED:
        why = str(body.get("reason") or "the run was cut short").removeprefix("interrupted: ")
        return Outcome("FAILED", bounded(f"interrupted : {why}"), outputs)
    faults = _faults(given, declared)
    if given.get("deploy_status_code") is None:
        faults.insert(0, f"deploy_status_code : {body.get('reason') or 'the run ended without an exit status'}")
    if not faults:
        return Outcome("COMPLETE", "Outputs received", outputs)
    return Outcome("FAILED", bounded(", ".join(faults) + (_hooks_reason(body) or _last_lines(given))), outputs)


def kept(given: Mapping[str, Any], declared: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Declared outputs that came, and the three standard ones always."""
    outputs = {str(item["name"]): given[item["name"]] for item in declared if item.get("name") in given}
    return outputs | {name: given.get(name) for name in STANDARD}


def _faults(given: Mapping[str, Any], declared: Sequence[Mapping[str, Any]]) -> list[str]:
    faults = []
    code = given.get("deploy_status_code")
    if code is not None and str(code) != "0":
        faults.append(f"deploy_status_code : Deployment exited with non-zero status code: {code}")
    for item in declared:
        name = str(item.get("name"))
        if item.get("error_output") and name in given:
            faults.append(f"{name} : {given[name]}")
    return faults


def _hooks_reason(body: Mapping[str, Any]) -> str:
    """What the hook knows better than the end of the output: the task, the state or the tool that failed (F076)."""
    reason = str(body.get("reason") or "").strip()
    known = not reason or _GENERAL.match(reason) or (body.get("outputs") or {}).get("deploy_status_code") is None
    return "" if known else "; " + bounded(reason, 1500)


def _last_lines(given: Mapping[str, Any]) -> str:
    text = str(given.get("deploy_stderr") or given.get("deploy_stdout") or "").strip()
    lines = text.splitlines()[-5:]
    return "; last lines: " + bounded("\n".join(lines), 1500) if lines else ""
