"""The config that one deployment gives to one server: the user's, with its inputs filled in (agents.json)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calor.server.resources.base import Config, Context, ResourceFailed
from calor.server.resources.heat.drops import Drop, ObjectDrop, QueueDrop

UNGROUPED = "Heat::Ungrouped"


@dataclass(frozen=True, kw_only=True)
class Order:
    """What a deployment resource asks for, of either kind."""

    server: str
    action: str
    transport: str
    name: str | None
    values: Mapping[str, Any]
    drop: Drop | None = None


async def account(at: Context) -> dict[str, str]:
    """What a guest logs in with that signals by an API, by the words of Heat."""
    user, password = await at.guests.password(at.me.id)
    return {
        "auth_url": f"{at.urls.orchestration}/v3",
        "username": user,
        "user_id": user,
        "password": password,
        "project_id": at.stack.project_id,
        **({"region_name": at.stack.region} if at.stack.region else {}),
    }


ABOUT: Mapping[str, str] = {
    "auth_url": "URL for API authentication",
    "username": "Username for API authentication",
    "user_id": "User ID for API authentication",
    "password": "Password for API authentication",
    "project_id": "ID of project for API authentication",
    "region_name": "Region name for API authentication",
}


async def inputs_of(at: Context, config: Config | None, order: Order) -> list[dict[str, Any]]:
    """Declared inputs with their values, values that were not declared, and what the agent needs to answer."""
    declared = [dict(one) for one in (config.inputs if config else ())]
    inputs = [_with_value(one, order.values) for one in declared]
    names = {one["name"] for one in declared}
    inputs += [text(name, value) for name, value in order.values.items() if name not in names]
    return inputs + await _own_inputs(at, order)


def _with_value(declared: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    name = declared["name"]
    shown = {key: value for key, value in declared.items() if key != "replace_on_change" or value}
    return {**shown, "value": values.get(name, declared.get("default"))}


async def _own_inputs(at: Context, order: Order) -> list[dict[str, Any]]:
    own = [
        text("deploy_server_id", order.server, "ID of the server being deployed to"),
        text("deploy_action", order.action, "Name of the current action being deployed"),
        text("deploy_stack_id", f"{at.stack.name}/{at.stack.id}", "ID of the stack this deployment belongs to"),
        text("deploy_resource_name", at.me.name, "Name of this deployment resource in the stack"),
        text("deploy_signal_transport", order.transport, "How the server should signal the outcome"),
    ]
    if order.transport == "CFN_SIGNAL":
        own += _by_url(at.urls.signal(at.me.id), "POST")
    if isinstance(order.drop, ObjectDrop):
        own += _by_url(await order.drop.url(at), "PUT")
    if order.transport in {"HEAT_SIGNAL", "ZAQAR_SIGNAL"}:
        own += [text(f"deploy_{name}", value, ABOUT[name]) for name, value in (await account(at)).items()]
    if isinstance(order.drop, QueueDrop):
        own.append(text("deploy_queue_id", order.drop.queue, "ID of queue to use for signaling output values"))
    return own


def _by_url(url: str, verb: str) -> list[dict[str, Any]]:
    return [
        text("deploy_signal_id", url, "ID of signal to use for signaling output values"),
        text("deploy_signal_verb", verb, "HTTP verb to use for signaling output values"),
    ]


def text(name: str, value: Any, description: str | None = None) -> dict[str, Any]:
    about = {} if description is None else {"description": description}
    return {"name": name, "type": "String", **about, "value": value}


def filled_in(config: Any, key: str, values: Mapping[str, Any], *, strict: bool) -> Any:
    """A structured config with each ``{key: NAME}``, whose name is a text, replaced by the input. Raises
    `ResourceFailed` when ``strict`` and there is no such input; else such a place is null."""
    if isinstance(config, Mapping):
        if len(config) == 1 and isinstance(name := config.get(key), str):
            if strict and name not in values:
                raise ResourceFailed(f"The config asks for the input {name!r}, which input_values does not have.")
            return values.get(name)
        return {name: filled_in(value, key, values, strict=strict) for name, value in config.items()}
    if isinstance(config, list | tuple):
        return [filled_in(value, key, values, strict=strict) for value in config]
    return config


def actions_of(config: Config | None, wanted: Sequence[str]) -> frozenset[str]:
    """The actions that run something: of a component, those its configs name; else those of the deployment."""
    if config is not None and config.group == "component" and isinstance(config.config, Mapping):
        parts = config.config.get("configs") or ()
        return frozenset(action for part in parts for action in part.get("actions") or ("CREATE", "UPDATE"))
    return frozenset(wanted)
