"""What a signal's body means. Pure (agents.json, ``signal_handling_in_engine`` and ``wait_condition_signals``)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from calor.server.errors import BadRequest

STANDARD_OUTPUTS = ("deploy_stdout", "deploy_stderr", "deploy_status_code")
SUCCESS, FAILURE = "SUCCESS", "FAILURE"
KEYS = frozenset({"id", "data", "reason", "status"})
CFN_KEYS = {"UniqueId": "id", "Status": "status", "Reason": "reason", "Data": "data"}


@dataclass(frozen=True)
class Outcome:
    """The end of a deployment: Heat's status and reason, and the outputs to store."""

    status: str
    reason: str
    outputs: Mapping[str, Any]


def outcome_of(details: Mapping[str, Any], declared: Sequence[Mapping[str, Any]]) -> Outcome:
    """FAILED for an exit code other than 0 or an error output that is there; COMPLETE for anything else."""
    outputs = {str(output["name"]): details[output["name"]] for output in declared if output.get("name") in details}
    outputs |= {name: details.get(name) for name in STANDARD_OUTPUTS}
    code = details.get("deploy_status_code")
    reasons = []
    if code is not None and str(code) != "0":
        reasons.append(f"deploy_status_code : Deployment exited with non-zero status code: {code}")
    reasons += [
        f"{output['name']} : {details[output['name']]}"
        for output in declared
        if output.get("error_output") and output.get("name") in details
    ]
    if reasons:
        return Outcome("FAILED", ", ".join(reasons), outputs)
    return Outcome("COMPLETE", "Outputs received", outputs)


@dataclass(frozen=True)
class Entry:
    """One signal of a wait condition's handle."""

    ident: str
    status: str
    reason: str
    data: Any


def entry_of(details: Mapping[str, Any], number: int) -> Entry:
    """``number`` names a signal that has no id. Raises `BadRequest` for a body that Heat refuses too, but for the keys
    that cfn-signal sends (Heat takes them for its CloudFormation handles only)."""
    details = {CFN_KEYS.get(key, key): value for key, value in details.items()}
    unknown = sorted(set(details) - KEYS)
    if unknown:
        raise BadRequest(f"A signal has the keys id, data, reason and status, not {', '.join(map(str, unknown))}.")
    ident = str(details.get("id") or number)
    status = str(details.get("status") or SUCCESS)
    if status not in (SUCCESS, FAILURE):
        raise BadRequest(f"The status of a signal is SUCCESS or FAILURE, not {status!r}.")
    return Entry(ident, status, str(details.get("reason") or f"Signal {ident} received"), details.get("data"))


def check_complete(details: Mapping[str, Any]) -> None:
    """Raises `BadRequest` unless a body is one that ``cfn-signal`` sends: its four keys, no others."""
    if set(details) != set(CFN_KEYS):
        found = ", ".join(sorted(map(str, details))) or "nothing"
        raise BadRequest(f"A signal has the keys {', '.join(sorted(CFN_KEYS))}, all of them; this one has {found}.")
    entry_of(details, 1)


def entries_of(signals: Sequence[Mapping[str, Any]]) -> Mapping[str, Entry]:
    """The valid signals by id; a later one of the same id takes the place of the former. One without an id never
    does: it gets the next number that is free."""
    found: dict[str, Entry] = {}
    for signal in signals:
        number = next(one for one in count(len(found) + 1) if str(one) not in found)
        try:
            entry = entry_of(signal, number)
        except BadRequest:
            continue  # its sender was told; it counts for nothing
        found[entry.ident] = entry
    return found
