"""What a silent guest left on its console: the boot script says there why no agent of ours can call."""

import logging
import re
from collections.abc import Mapping

from calor.server.cloud.door import Cloud
from calor.server.cloud.errors import CloudError
from calor.server.engine.durable.reasons import bounded

log = logging.getLogger(__name__)

_LINES = 200
_SHOWN = 2
_OURS = re.compile(r"calor: .*")
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


async def last_words(cloud: Cloud, server_id: str) -> str:
    """A sentence with the last lines that are ours, else with the very last; empty where there is no console."""
    body = {"os-getConsoleOutput": {"length": _LINES}}
    try:
        answer = await cloud.call("compute", "post", f"/servers/{server_id}/action", json=body)
    except CloudError as exc:  # no compute service knows it, or this one shows no consoles: it would only have helped
        log.info("the console cannot be read", extra={"server": server_id, "error": str(exc)})
        return ""
    text = str(answer.get("output") or "") if isinstance(answer, Mapping) else ""
    lines = [line for line in (_CONTROL.sub("", line).strip() for line in text.splitlines()) if line]
    ours = [found[0] for found in map(_OURS.search, lines) if found]
    shown = list(dict.fromkeys(ours))[-_SHOWN:] or lines[-1:]
    return f" Its console says: {bounded(' / '.join(shown), 600)}" if shown else ""
