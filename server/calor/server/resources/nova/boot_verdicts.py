"""A server that is complete only when its cloud-init is (F097, F193).

A template asks for it in the *resource's* metadata, which Heat keeps and otherwise leaves alone, so that the template
stays valid there:

    metadata:
      calor: {wait_for: cloud-init}
"""

from collections.abc import Mapping
from typing import Any

from calor.server.resources.base import Context, ResourceFailed

KEY, WORD = "wait_for", "cloud-init"
LAST_LINES = 12


def is_wanted(metadata: Mapping[str, Any]) -> bool:
    """Raises `ResourceFailed` for a wish that is not known."""
    ours = metadata.get("calor")
    wish = ours.get(KEY) if isinstance(ours, Mapping) else None
    if wish is not None and wish != WORD:
        raise ResourceFailed(f"metadata: calor.{KEY} may be {WORD!r} only, not {wish!r}.")
    return wish is not None


def check(at: Context, user_data_format: str) -> None:
    """Raises `ResourceFailed` where nobody could tell."""
    if is_wanted(at.me.metadata) and user_data_format != "SOFTWARE_CONFIG":
        raise ResourceFailed(
            f"metadata: calor.{KEY} needs user_data_format SOFTWARE_CONFIG, not {user_data_format}: "
            "Calor's agent in the instance tells what cloud-init came to."
        )


async def wait(at: Context) -> None:
    """Raises `ResourceFailed` with cloud-init's errors and the last lines that it printed."""
    if not is_wanted(at.me.metadata):
        return
    verdict = await at.guests.boot_verdict(at.me.id)
    if verdict.status == "done":
        return
    errors = "; ".join(verdict.errors) or "no error is named"
    lines = verdict.log.strip().splitlines()[-LAST_LINES:]
    last = "; last lines: " + "\n".join(lines) if lines else ""
    raise ResourceFailed(f"cloud-init ended with {verdict.status}: {errors}{last}")
