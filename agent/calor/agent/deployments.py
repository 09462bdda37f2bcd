"""A deployment as the server hands it out: Heat's JSON, parsed once."""

import json
import math
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from calor.cfntools.digest import sha256_hex

SAFE_NAME = re.compile(r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$")
UNGROUPED = "Heat::Ungrouped"
DATA_GROUPS = (UNGROUPED, "os-apply-config")
"""Their configs are data, for the templates of files on this machine."""


class Deployment(NamedTuple):
    """One config for this server. ``run_id`` belongs to one (deployment, config) and is safe as a file name. ``fault``
    says which of its options makes no sense: then it is not run."""

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
    fault: str = ""

    @property
    def action(self) -> str:
        return str(self.inputs.get("deploy_action") or "CREATE")


def parse(document: Dict[str, Any]) -> Deployment:
    """Raises ValueError where an id is missing; everything else has a default."""
    ident = document.get("id")
    if not isinstance(ident, str) or not ident:
        raise ValueError("a deployment without an id")
    ours, options = _map(document.get("calor")), _map(document.get("options"))
    run_id = str(ours.get("run_id") or ident)
    if "inputs" in document:
        document = dict(document, inputs=_inputs(document["inputs"]))
    retries, no_count = _number("retries", ours, options)
    timeout, no_time = _number("timeout", ours, options)
    return Deployment(
        id=ident,
        name=str(document.get("name") or ident),
        group=str(document.get("group") or UNGROUPED),
        config=document.get("config"),
        inputs={str(item["name"]): item.get("value") for item in document.get("inputs") or []},
        output_names=[str(item["name"]) for item in _named(document.get("outputs"))],
        options=options,
        run_id=run_id if SAFE_NAME.match(run_id) else sha256_hex(run_id.encode("utf-8", "surrogatepass")),
        deployment_id=str(ours.get("deployment_id") or ""),
        retries=max(0, int(retries)),
        timeout=timeout or None,
        document=document,
        fault=no_count or no_time,
    )


def _map(value: Any) -> Dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


def _named(items: Any) -> List[Dict[str, Any]]:
    return [item for item in items if isinstance(item, dict) and "name" in item] if isinstance(items, list) else []


def _inputs(items: Any) -> List[Dict[str, Any]]:
    """The inputs; of those whose type is String the value is text, as Heat's agent gives it to its hooks. Maps and
    lists, which that turns to Python's notation, stay what they are."""
    found = []
    for item in _named(items):
        value = item.get("value")
        is_scalar = value is None or isinstance(value, (bool, int, float))
        if item.get("type") == "String" and is_scalar:
            item = dict(item, value="" if value is None else str(value))
        found.append(item)
    return found


def _number(name: str, ours: Dict[str, Any], options: Dict[str, Any]) -> Tuple[float, str]:
    """What our server says, else the option (other servers hand out no more than that); 0 and why, where it is no
    number."""
    value = ours[name] if name in ours else options.get(name)
    if value in (None, ""):
        return 0.0, ""
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if math.isfinite(number) and number >= 0:
        return number, ""
    return 0.0, "option {} is no number that makes sense: {!r}".format(name, value)


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
    entries = _map(config).get("configs")
    for entry in entries if isinstance(entries, list) else []:
        actions = _map(entry).get("actions") or []
        if deployment.action in (
            [actions] if isinstance(actions, str) else actions if isinstance(actions, list) else []
        ):
            return Chosen(str(entry.get("tool") or "script"), entry.get("config"))
    return Chosen("", None)
