"""What cloud-init came to in this boot, told to the server that asked to know (``report_cloud_init``).

Read from the files that cloud-init itself keeps, as ``cloud-init status`` does: they are the same in all versions.
"""

import logging
import os
import threading
from typing import Any, Dict, List

from calor.agent import outputs
from calor.agent.backoff import Backoff
from calor.agent.identity import NotEnrolled, Refused
from calor.agent.native import Link
from calor.agent.places import Places
from calor.cfntools import durable, httpclient

log = logging.getLogger("calor.agent.verdict")

RESULT = "/run/cloud-init/result.json"
STATUS = "/run/cloud-init/status.json"
PRINTED = "/var/log/cloud-init-output.log"
SHUTDOWN = "/run/systemd/shutdown/scheduled"
LOOK_EVERY = 0.5
SETTLE = 3.0
"""Seconds after cloud-init's end in which a reboot that it asked for ends this process too."""
LAST = 3000


def tell(places: Places, link: Link, stop: threading.Event) -> None:
    """Wait for cloud-init's end and tell it. A reboot comes before: the next boot's agent tells of the next one."""
    while not os.path.exists(places.under(RESULT)) or os.path.exists(places.under(SHUTDOWN)):
        if stop.wait(LOOK_EVERY):
            return
    if stop.wait(SETTLE):
        return
    body = found(places)
    backoff = Backoff(1.0, 30.0)
    while not stop.is_set():
        try:
            link.post("cloud-init", body)
        except Refused as exc:
            if exc.is_final:
                log.warning("cloud-init's verdict is not wanted: %s", exc)
                return
            stop.wait(backoff.next())
        except (NotEnrolled, httpclient.TransportError) as exc:
            log.warning("cloud-init's verdict not delivered yet: %s", exc)
            stop.wait(backoff.next())
        else:
            log.info("cloud-init: %s", body["status"])
            return


def found(places: Places) -> Dict[str, Any]:
    """``status`` is done or error, as cloud-init itself counts."""
    errors = _errors(durable.read_map(places.under(RESULT)).get("v1"))
    stages = durable.read_map(places.under(STATUS)).get("v1")
    for stage in stages.values() if isinstance(stages, dict) else []:
        errors += [one for one in _errors(stage) if one not in errors]
    return {
        "status": "error" if errors else "done",
        "errors": errors,
        "log": outputs.tail(places.under(PRINTED), LAST),
    }


def _errors(stage: Any) -> List[str]:
    named = stage.get("errors") if isinstance(stage, dict) else None
    return [str(one) for one in named] if isinstance(named, list) else []
