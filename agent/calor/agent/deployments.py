"""A deployment as the server hands it out: Heat's JSON, parsed once."""

import json
import re
from typing import Any, Dict, List, NamedTuple, Optional

from calor.cfntools.digest import sha256_hex

SAFE_NAME = re.compile(r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$")
UNGROUPED = "Heat::Ungrouped"
DATA_GROUPS = (UNGROUPED, "os-apply-config")
"""Their configs are data, for the templates of files on this machine."""


class Deployment(NamedTuple):
    """One config for this server. ``run_id`` belongs to one (deployment, config) and is safe as a file name."""

    id: str
    name: str
    group: str
    config: Any
    inputs: Dict[str, Any]
    output_names: List[str]
    options: Dict[str, Any]
    run_id: str
    deployment_id: str
    retries: int
    timeout: Optional[float]
    document: Dict[str, Any]

    @property
    def action(self) -> str:
        return str(self.inputs.get("deploy_action") or "CREATE")


def parse(document: Dict[str, Any]) -> Deployment:
    """Raises ValueError where an id is missing; everything else has a default."""
    ident = document.get("id")
    if not isinstance(ident, str) or not ident:
        raise ValueError("a deployment without an id")
    ours = document.get("calor") or {}
    run_id = str(ours.get("run_id") or ident)
    inputs = {str(item["name"]): item.get("value") for item in document.get("inputs") or [] if "name" in item}
    timeout = ours.get("timeout")
    return Deployment(
        id=ident,
        name=str(document.get("name") or ident),
        group=str(document.get("group") or UNGROUPED),
        config=document.get("config"),
        inputs=inputs,
        output_names=[str(item["name"]) for item in document.get("outputs") or [] if "name" in item],
        options=dict(document.get("options") or {}),
        run_id=run_id if SAFE_NAME.match(run_id) else sha256_hex(run_id.encode("utf-8", "surrogatepass")),
        deployment_id=str(ours.get("deployment_id") or ""),
        retries=max(0, int(ours.get("retries") or 0)),
        timeout=float(timeout) if timeout else None,
        document=document,
    )


def parse_all(documents: Any) -> List[Deployment]:
    """The deployments that can be read, in the order given. Entries that are none (Heat leaves gaps) are dropped."""
    found = []
    for document in documents if isinstance(documents, list) else []:
        try:
            found.append(parse(document))
        except (ValueError, TypeError, AttributeError, KeyError):
            continue
    return found


class Chosen(NamedTuple):
    """What is to be run of a deployment: its hook's group and the config for it. ``group`` is empty for nothing."""

    group: str
    config: Any


def choose(deployment: Deployment) -> Chosen:
    """Resolve a component: the config whose ``actions`` hold the deployment's action."""
    if deployment.group != "component":
        return Chosen(deployment.group, deployment.config)
    config = deployment.config
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except ValueError:
            config = {}
    for entry in (config or {}).get("configs") or []:
        actions = entry.get("actions") or []
        if deployment.action in ([actions] if isinstance(actions, str) else actions):
            return Chosen(str(entry.get("tool") or "script"), entry.get("config"))
    return Chosen("", None)
