"""Heat's JSON of software configs, deployments, resource types and services."""

from typing import Any

from calor.server.api.links import time_text
from calor.server.engine.contract.views import ConfigView, DeploymentView, ResourceTypeView, ServiceView


def config_summary(view: ConfigView, *, with_project: bool = False) -> dict[str, Any]:
    """A config in a list."""
    found = {
        "id": view.id,
        "name": view.name or None,
        "group": view.group,
        "creation_time": time_text(view.created_at),
    }
    if with_project:
        found["project"] = view.project_id
    return found


def config_detail(view: ConfigView) -> dict[str, Any]:
    return {
        **config_summary(view),
        "config": view.config,
        "inputs": [dict(one) for one in view.inputs],
        "outputs": [dict(one) for one in view.outputs],
        "options": dict(view.options),
    }


def deployment(view: DeploymentView) -> dict[str, Any]:
    found = {
        "id": view.id,
        "server_id": view.server_id,
        "config_id": view.config_id,
        "action": view.action,
        "status": view.status,
        "status_reason": view.status_reason,
        "input_values": dict(view.input_values),
        "output_values": dict(view.output_values) or None,
        "creation_time": time_text(view.created_at),
    }
    if view.updated_at is not None:
        found["updated_time"] = time_text(view.updated_at)
    return found


def resource_type(view: ResourceTypeView) -> dict[str, Any]:
    """A type's schema."""
    found = {
        "resource_type": view.name,
        "properties": dict(view.properties),
        "attributes": dict(view.attributes),
        "support_status": {
            "status": view.support_status,
            "version": view.since,
            "message": None,
            "previous_status": None,
        },
    }
    if view.description:
        found["description"] = view.description
    return found


def service(view: ServiceView) -> dict[str, Any]:
    return {
        "id": view.id,
        "engine_id": view.engine_id,
        "binary": view.binary,
        "host": view.host,
        "hostname": view.hostname,
        "topic": view.topic,
        "status": "up" if view.is_up else "down",
        "report_interval": view.report_interval,
        "created_at": time_text(view.created_at),
        "updated_at": time_text(view.updated_at),
        "deleted_at": None,
    }
