"""Parameters of an update that the template does not have: with ``--existing`` the server drops them, as Heat does."""

from collections.abc import Iterable, Mapping
from typing import Any

import click
import yaml

from calor.server.cli.api_fault import Fault
from calor.server.cli.client import Client
from calor.server.template.nearest import did_you_mean

_NATIVE = ("heat_template_version", "HeatTemplateFormatVersion", "AWSTemplateFormatVersion")


def warn_of_unknown(client: Client, path: str, body: Mapping[str, Any]) -> None:
    """Say on standard error which of the ``body``'s names will have no effect."""
    values, cleared = body["parameters"], body.get("clear_parameters") or ()
    known = _known(client, path, body) if values or cleared else None
    if known is None:
        return
    _warn("--parameter", values, known)
    _warn("--clear-parameter", cleared, known)


def _warn(option: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            text = f"The template has no parameter {name!r}{did_you_mean(name, known)}: it is left out."
            click.echo(f"Warning: {option} {name}: {text}", err=True)


def _known(client: Client, path: str, body: Mapping[str, Any]) -> Iterable[str] | None:
    """The names of the template's parameters; None where they cannot be known here: the server decides."""
    if "template" in body:
        template = yaml.load(body["template"], Loader=yaml.CSafeLoader)
    else:
        try:
            template = client.get(f"{path}/template")
        except Fault:
            return None
    if not isinstance(template, Mapping) or not any(name in template for name in _NATIVE):
        return None
    found = template.get("parameters") or template.get("Parameters") or {}
    return [str(name) for name in found] if isinstance(found, Mapping) else None
