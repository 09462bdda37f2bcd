"""What heat-agents go by: ``DEPLOYED/ID.json`` for each config that was begun on this machine, by whichever agent.

So an instance may change its agent, or have both, and nothing is run twice: theirs pass over what we have begun, and we
over what they have.
"""

import json
import os
import re
from typing import Mapping, Optional

from calor.agent import processes
from calor.agent.attempts import FINISHED, INTERRUPTED, Outcome
from calor.agent.deployments import Chosen, Deployment
from calor.agent.places import Places
from calor.cfntools import durable

OURS = "calor"
THEIR_RUNNER = b"55-heat-config"
LOOK_AGAIN = 5.0
"""Seconds after which to look again for what theirs runs now."""


def note(places: Places, environment: Mapping[str, str], deployment: Deployment, chosen: Chosen) -> None:
    """A config is about to be begun by us. Idempotent; what is there already stays. Theirs keep the whole deployment
    there, with its secrets; that it is there is what counts."""
    folder = _directory(places, environment)
    older = places.heat(environment, "HEAT_CONFIG_DEPLOYED_OLD", "/var/run/heat-config/deployed")
    if not os.path.isdir(folder) and os.path.isdir(older):
        import shutil  # it brings three compressors along

        os.makedirs(os.path.dirname(folder), exist_ok=True)
        shutil.move(older, folder)
    durable.make_directory(folder)
    known = {"id": deployment.id, "name": deployment.name, "group": chosen.group, OURS: {"run_id": deployment.run_id}}
    durable.create_once(_path(folder, deployment.id), json.dumps(known, indent=2).encode("ascii"))


def by_another(places: Places, environment: Mapping[str, str], deployment: Deployment) -> Optional[Outcome]:
    """How it ended if heat-agents have begun it, so that we must not; None if they have not."""
    for folder in (
        _directory(places, environment),
        places.heat(environment, "HEAT_CONFIG_DEPLOYED_OLD", "/var/run/heat-config/deployed"),
    ):
        path = _path(folder, deployment.id)
        if os.path.exists(path) and OURS not in durable.read_map(path):
            return _outcome(path)
    return None


def is_going_on(outcome: Outcome) -> bool:
    """Whether heat-agents may be at it now: then they will tell."""
    return outcome.outcome == INTERRUPTED and processes.is_running(THEIR_RUNNER)


def forget(places: Places, environment: Mapping[str, str], ident: str) -> None:
    """Take away what we noted of a config."""
    path = _path(_directory(places, environment), ident)
    if OURS in durable.read_map(path):
        durable.remove(path)


def _outcome(path: str) -> Outcome:
    told = path[: -len("json")] + "notify.json"
    outputs = durable.read_map(told)
    if not os.path.exists(told) or not outputs:
        texts = {"deploy_stdout": "", "deploy_stderr": "", "deploy_status_code": -1}
        reason = "heat-agents have begun this config before ({}) and have left no result".format(path)
        return Outcome(INTERRUPTED, texts, reason)
    code = str(outputs.get("deploy_status_code", "none"))
    return Outcome(FINISHED, outputs, "" if code == "0" else "run by heat-agents before: exit code {}".format(code))


def _directory(places: Places, environment: Mapping[str, str]) -> str:
    return places.heat(environment, "HEAT_CONFIG_DEPLOYED", "/var/lib/heat-config/deployed")


def _path(folder: str, ident: str) -> str:
    return os.path.join(folder, re.sub("[/\0]", "_", ident) + ".json")
