"""Where a server goes: the one host that there is, unless its scheduler hints rule it out."""

from calor.server.devcloud.calls import Call
from calor.server.devcloud.documents import Doc

NO_HOST = "No valid host was found. There are not enough hosts available."


def has_host(call: Call) -> bool:
    """``same_host`` wants one of the named servers to be here, ``different_host`` none. As Nova has it, servers that do
    not exist are nowhere."""
    hints = call.body.get("os:scheduler_hints") or call.body.get("OS-SCH-HNT:scheduler_hints") or {}
    same, different = _named(hints, "same_host"), _named(hints, "different_host")
    here = {doc["id"] for doc in call.docs.all("server") if doc["id"] in {*same, *different}}
    return (not same or any(ident in here for ident in same)) and not any(ident in here for ident in different)


def _named(hints: Doc, hint: str) -> list[str]:
    given = hints.get(hint) or []
    return [str(one) for one in given] if isinstance(given, list) else [str(given)]
