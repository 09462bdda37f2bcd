"""The commands that the `openstack` client gets: those of `calor`, under names that nobody else has."""

import argparse
import importlib.metadata
import warnings
from typing import Any

import click
import pytest

from calor.server.cli import deployment, main

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # osc-lib warns of a module that it imports itself
    from calor.server.openstack_plugin import commands

OF_CALOR = {"logs", "plan", "update", "watch"}


def of_the_plugin() -> dict[str, type[commands.Verb]]:
    group = importlib.metadata.entry_points(group="openstack.calor.v1")
    return {entry.name.replace("_", " "): entry.load() for entry in group}


def test_no_command_of_the_plug_in_has_a_name_that_another_plug_in_has() -> None:
    taken = {
        entry.name.replace("_", " ")
        for group in importlib.metadata.entry_points().groups
        if group.startswith("openstack.") and group != "openstack.calor.v1"
        for entry in importlib.metadata.entry_points(group=group)
    }
    ours = of_the_plugin().keys()
    assert not ours & taken
    pairs = {(one, other) for one in ours for other in taken | ours if one != other}
    assert not [pair for pair in pairs if pair[0].startswith(f"{pair[1]} ") or pair[1].startswith(f"{pair[0]} ")]


@pytest.mark.parametrize("name", sorted(of_the_plugin()))
def test_a_command_has_every_option_of_its_verb(name: str) -> None:
    kind = of_the_plugin()[name]
    parser = kind(argparse.Namespace(command_manager=None), None).get_parser(f"openstack {name}")  # type: ignore[arg-type]
    known = {option for action in parser._actions for option in action.option_strings}
    wanted = {one for param in kind.verb.params for one in (*param.opts, *param.secondary_opts) if one[0] == "-"}
    assert known - {"-h", "--help"} == wanted - {"--os-cloud", "--dev"}


def test_the_verbs_are_those_of_the_calor_command() -> None:
    with click.Context(main) as context:
        stack: Any = main.get_command(context, "stack")
        of_stacks = {stack.get_command(context, name) for name in OF_CALOR}
        others = {main.get_command(context, "validate"), *deployment.deployment.commands.values()}
    assert {kind.verb for kind in of_the_plugin().values()} == of_stacks | others
