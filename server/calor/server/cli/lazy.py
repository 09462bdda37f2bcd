"""A click group that imports a command's module when it is called: ``calor --help`` imports none."""

import gc
import importlib
from collections.abc import Mapping
from dataclasses import dataclass

import click

from calor.server import __version__

RARELY = (50_000, 20, 50)
"""When the garbage of cycles is collected, in objects and rounds: what a start imports and what a large stack is made
of stays, and looking through it again and again took a quarter of the time."""


@dataclass(frozen=True)
class LazyCommand:
    """``where`` is ``package.module:attribute``."""

    where: str
    short_help: str


class LazyGroup(click.Group):
    """Commands from a table of `LazyCommand`s, shown in the table's order."""

    def __init__(self, *, commands: Mapping[str, LazyCommand], name: str, help_text: str) -> None:
        super().__init__(name=name, help=help_text, context_settings={"help_option_names": ["-h", "--help"]})
        self._lazy = commands
        click.version_option(__version__, message="calor %(version)s")(self)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lazy:
            return None
        gc.set_threshold(*RARELY)
        module, _, attribute = self._lazy[cmd_name].where.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{self._lazy[cmd_name].where} is not a click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.short_help) for name, one in self._lazy.items()])
