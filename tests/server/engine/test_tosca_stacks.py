"""Stacks of TOSCA templates: created, previewed, validated, updated and shown as their translation."""

from typing import Any

import pytest
import yaml

from calor.server.engine.contract.views import StackRequest
from calor.server.errors import EntityNotFound, InvalidInput
from calor.server.identity import Caller

pytestmark = pytest.mark.slow
USER = Caller(user_id="u1", project_id="p1", roles=frozenset({"member"}), user_name="user1", token="t1")
TEXT = """\
tosca_definitions_version: tosca_simple_yaml_1_0
description: of TOSCA
imports: [types.yaml]
topology_template:
  inputs:
    word: {type: string, default: d}
  node_templates:
    net:
      type: My.Network
      properties: {network_name: {get_input: word}, cidr: 10.0.0.0/24}
"""
FILES = {
    "types.yaml": "tosca_definitions_version: tosca_simple_yaml_1_0\n"
    "node_types:\n  My.Network: {derived_from: tosca.nodes.network.Network}\n"
}
REGISTRY = {
    "resource_registry": {"OS::Neutron::Net": "OS::Heat::None", "OS::Neutron::Subnet": "OS::Heat::None"},
}


def request(**more: Any) -> StackRequest:
    return StackRequest(**{"name": "tosca", "template": TEXT, "files": FILES, "environment": REGISTRY} | more)


async def test_a_stack_of_a_tosca_template_shows_it_as_hot(engine: Any) -> None:
    stack = await engine.stacks.create(USER, request(parameters={"word": "w"}))
    view = await engine.reached(stack, "CREATE_COMPLETE")
    assert (view.description, view.parameters["word"]) == ("of TOSCA", "w")
    shown = await engine.stacks.template(USER, stack.name, stack.id)
    assert shown["heat_template_version"] == "2013-05-23"
    assert shown["resources"]["net"]["properties"]["name"] == {"get_param": "word"}
    assert shown["parameters"]["word"]["default"] == "d"


async def test_it_is_updated_by_another_one_and_by_its_parameters_alone(engine: Any) -> None:
    stack = await engine.stacks.create(USER, request())
    await engine.reached(stack, "CREATE_COMPLETE")
    await engine.stacks.update(USER, stack.name, stack.id, request(template=TEXT.replace("of TOSCA", "again")))
    assert (await engine.reached(stack, "UPDATE_COMPLETE")).description == "again"
    await engine.stacks.update(USER, stack.name, stack.id, StackRequest(existing=True, parameters={"word": "n"}))
    view = await engine.reached(stack, "UPDATE_COMPLETE")
    assert (view.description, view.parameters["word"]) == ("again", "n")
    patch = request(existing=True, template=TEXT.replace("of TOSCA", "patched"))
    await engine.stacks.update(USER, stack.name, stack.id, patch)
    assert (await engine.reached(stack, "UPDATE_COMPLETE")).description == "patched"


async def test_previews_and_validation_read_it_too_and_validation_gives_the_translation(engine: Any) -> None:
    preview = await engine.stacks.preview(USER, request())
    assert {one["resource_type"] for one in preview["resources"]} == {"OS::Neutron::Net", "OS::Neutron::Subnet"}
    answer = await engine.stacks.validate(USER, request(), show_nested=False)
    assert set(yaml.safe_load(answer["Translation"])["resources"]) == {"net", "net_subnet"}
    assert answer["Parameters"]["word"]["Default"] == "d"
    stack = await engine.stacks.create(USER, request())
    await engine.reached(stack, "CREATE_COMPLETE")
    groups = await engine.stacks.preview_update(USER, stack.name, stack.id, request(), show_nested=False)
    assert {one["resource_name"] for one in groups["unchanged"]} == {"net", "net_subnet"}


async def test_a_fault_of_it_is_told_with_its_place_and_nothing_is_made(engine: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        await engine.stacks.create(USER, request(template=TEXT.replace("cidr:", "cidrr:")))
    (problem,) = caught.value.problems
    assert (problem.line, problem.code) == (10, "tosca-template")
    assert "cidrr" in problem.message
    with pytest.raises(EntityNotFound):
        await engine.stacks.identify(USER, "tosca")


async def test_a_fault_of_the_translation_has_its_own_lines_and_says_so(engine: Any) -> None:
    script = "    box: {type: tosca.nodes.Compute, interfaces: {Standard: {create: gone.sh}}}\n"
    text = TEXT + script
    with pytest.raises(InvalidInput) as caught:
        await engine.stacks.create(USER, request(template=text))
    assert {problem.file for problem in caught.value.problems} == {"translation"}
    assert "gone.sh" in caught.value.detail
