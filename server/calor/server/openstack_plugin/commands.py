"""Each command of the ``openstack`` client is a verb of `calor`: its options, its help, its code."""

import argparse
from collections.abc import Iterator
from typing import Any, ClassVar

import click
from osc_lib.command import command

from calor.server.cli import deployment as deployments
from calor.server.cli.stack.change import update
from calor.server.cli.stack.logs import logs
from calor.server.cli.stack.plan import plan
from calor.server.cli.stack.watch import watch
from calor.server.cli.validate import validate
from calor.server.openstack_plugin import API_NAME

OF_THE_CLOUD = frozenset({"os_cloud", "dev_dir"})
"""Options that say which cloud: those of the ``openstack`` client itself hold."""


class Verb(command.Command):
    """A verb of `calor`, a click command, run with the session of the ``openstack`` client."""

    verb: ClassVar[click.Command]
    auth_required: bool = True

    def get_description(self) -> str:
        return (self.verb.help or "").strip()

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        for param in parameters(self.verb):
            if isinstance(param, click.Option):
                _add_option(parser, param)
            else:
                _add_argument(parser, param)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """The exit code of the verb."""
        client = getattr(self.app.client_manager, API_NAME) if self.auth_required else None
        words = list(_written(self.verb, parsed_args))
        try:
            code = self.verb.main(words, prog_name=self.cmd_name, standalone_mode=False, obj=client)
        except click.ClickException as fault:
            fault.show()
            return fault.exit_code
        except click.Abort:
            return 1
        return code or 0


def parameters(verb: click.Command) -> Iterator[click.Parameter]:
    """What users give, in the order of the verb's help."""
    yield from (param for param in verb.params if param.name not in OF_THE_CLOUD)


def _add_argument(parser: argparse.ArgumentParser, param: click.Parameter) -> None:
    repeated = {1: None, -1: "+" if param.required else "*"}
    parser.add_argument(_name(param), metavar=f"<{_name(param)}>", nargs=repeated[param.nargs])


def _add_option(parser: argparse.ArgumentParser, param: click.Option) -> None:
    told: dict[str, Any] = {"dest": _name(param), "help": param.help, "default": None}
    if param.is_flag:
        parser.add_argument(*param.opts, action="store_const", const=True, **told)
        if param.secondary_opts:
            parser.add_argument(*param.secondary_opts, action="store_const", const=False, **told)
        return
    if isinstance(param.type, click.Choice):
        told["choices"] = list(param.type.choices)
    else:
        told["metavar"] = f"<{(param.metavar or max(param.opts, key=len).lstrip('-')).lower()}>"
    action = "append" if param.multiple else "store"
    parser.add_argument(*param.opts, action=action, required=param.required, **told)


def _written(verb: click.Command, given: argparse.Namespace) -> Iterator[str]:
    """What was given as click wants it written: click reads, checks and converts it as for `calor`."""
    for param in parameters(verb):
        value = getattr(given, _name(param))
        if value is None or not isinstance(param, click.Option):
            continue
        if param.is_flag:
            yield param.opts[0] if value else param.secondary_opts[0]
            continue
        for one in value if param.multiple else [value]:
            yield from (param.opts[0], str(one))
    yield "--"
    for param in parameters(verb):
        if isinstance(param, click.Argument):
            value = getattr(given, _name(param))
            yield from value if isinstance(value, list) else [value]


def _name(param: click.Parameter) -> str:
    return str(param.name)


class Plan(Verb):
    verb = plan


class Apply(Verb):
    verb = update


class Watch(Verb):
    verb = watch


class Logs(Verb):
    verb = logs


class Validate(Verb):
    verb = validate
    auth_required = False


class DeploymentRun(Verb):
    verb = deployments.run


class DeploymentRuns(Verb):
    verb = deployments.runs


class DeploymentCancel(Verb):
    verb = deployments.cancel


class DeploymentShow(Verb):
    verb = deployments.show


class DeploymentLogs(Verb):
    verb = deployments.logs
