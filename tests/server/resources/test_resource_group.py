"""Groups: the child template they want, and what their members answer together."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from calor.server.errors import BadRequest
from calor.server.resources.base import Nested
from calor.server.resources.memory import MemoryContext
from calor.server.template import parse_template

Bench = Callable[..., MemoryContext]
DEFINITION = {
    "type": "OS::Heat::Value",
    "properties": {"value": {"name": "n%index%", "deep": ["%index%"]}, "type": None},
}


class Members:
    """A child stack whose members' references and values are made of their names."""

    def __init__(self, names: Sequence[str], outputs: Mapping[str, Any] | None = None) -> None:
        self._names = names
        self._outputs = outputs or {}
        self.stack_id = "child"

    def arn(self) -> str:
        return "arn"

    async def output(self, name: str) -> Any:
        return self._outputs[name]

    def members(self) -> Sequence[str]:
        return self._names

    async def reference(self, member: str) -> Any:
        return f"ref-{member}"

    async def attribute(self, member: str, *path: Any) -> Any:
        return f"{member}:{'.'.join(map(str, path))}"


def wanted(context: MemoryContext, was: Nested | None = None, current: Sequence[str] = (), **properties: Any) -> Nested:
    want = context.typed({"resource_def": DEFINITION, **properties})
    return context.kind.nested(context.me, want, was, current)


def names(nested: Nested) -> list[str]:
    assert isinstance(nested.template, Mapping)
    return list(nested.template["resources"])


def test_members_are_numbered_and_know_their_number(bench: Bench) -> None:
    nested = wanted(bench("OS::Heat::ResourceGroup"), count=12)
    assert names(nested) == [str(number) for number in range(12)]
    assert isinstance(nested.template, Mapping)
    member = nested.template["resources"]["11"]
    assert member == {"type": "OS::Heat::Value", "properties": {"value": {"name": "n11", "deep": ["11"]}}}
    assert len(parse_template(nested.template).resources) == 12


def test_none_at_all_is_a_group_too(bench: Bench) -> None:
    nested = wanted(bench("OS::Heat::ResourceGroup"), count=0)
    assert names(nested) == []
    assert parse_template(nested.template).resources == {}


def test_a_removed_name_is_not_used_again(bench: Bench) -> None:
    group = bench("OS::Heat::ResourceGroup")
    first = wanted(group, count=3)
    removing = [{"resource_list": ["1", "9"]}]
    second = wanted(group, first, ["0", "1", "2"], count=2, removal_policies=removing)
    assert names(second) == ["0", "2"], "9 is no member and is not remembered"
    third = wanted(group, second, ["0", "2"], count=3)
    assert names(third) == ["0", "2", "3"]
    replaced = wanted(group, third, ["0", "2", "3"], count=3, removal_policies_mode="update")
    assert names(replaced) == ["0", "1", "2"]
    assert wanted(group, second, ["0", "2"], count=2, removal_policies=removing) == second, "asked again, the same"


async def ask(context: MemoryContext, child: Members, name: str, *path: Any) -> Any:
    return await context.kind.nested_attribute(context, child, None, name, path)


async def test_what_a_group_answers(bench: Bench) -> None:
    group, child = bench("OS::Heat::ResourceGroup"), Members(["0", "1"], {"removed_rsrc_list": ["7"]})
    assert await ask(group, child, "refs") == ["ref-0", "ref-1"]
    assert await ask(group, child, "refs_map") == {"0": "ref-0", "1": "ref-1"}
    assert await ask(group, child, "networks", "net", 0) == ["0:networks.net.0", "1:networks.net.0"]
    assert await ask(group, child, "attributes", "ip") == {"0": "0:ip", "1": "1:ip"}
    assert await ask(group, child, "resource.1") == "ref-1"
    assert await ask(group, child, "resource.1.ip") == "1:ip"
    assert await ask(group, child, "resource.1", "networks", 0) == "1:networks.0"
    assert await ask(group, child, "removed_rsrc_list") == ["7"]
    with pytest.raises(BadRequest, match="'5'"):
        await ask(group, child, "resource.5.ip")
    assert await ask(group, Members([]), "resource.0.ip") is None


async def test_a_deployment_group_has_one_deployment_a_server(bench: Bench) -> None:
    group = bench("OS::Heat::StructuredDeploymentGroup")
    want = group.typed({"servers": {"b": "srv-b", "a": "srv-a"}, "config": "c", "input_values": {"x": 1}})
    nested = group.kind.nested(group.me, want, None, ())
    assert names(nested) == ["a", "b"]
    assert isinstance(nested.template, Mapping)
    properties = nested.template["resources"]["a"]["properties"]
    assert (properties["server"], properties["config"], properties["input_values"]) == ("srv-a", "c", {"x": 1})
    assert "servers" not in properties and properties["input_key"] == "get_input"
    child = Members(["a", "b"])
    assert await ask(group, child, "deploy_stdouts") == {"a": "a:deploy_stdout", "b": "b:deploy_stdout"}
    assert await ask(group, child, "answer") == {"a": "a:answer", "b": "b:answer"}


async def test_a_stack_in_another_region_is_refused_and_in_ours_is_a_child(bench: Bench) -> None:
    stack = bench("OS::Heat::Stack")
    assert "region_name" in stack.kind.validate({"template": "x", "context": {"region_name": "R2"}})[0]
    want = stack.typed({"template": "heat_template_version: 2018-08-31\n", "parameters": {"a": 1}, "timeout": 5})
    nested = stack.kind.nested(stack.me, want, None, ())
    assert (nested.parameters, nested.timeout_mins) == ({"a": 1}, 5)
    assert await ask(stack, Members([], {"o": 1}), "outputs", "o") == 1
