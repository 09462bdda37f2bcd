"""`calor graph` of groups: their members are inside them where their number is known."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from calor.server.cli import main

MEMBER = {"type": "OS::Heat::RandomString"}


def drawn(folder: Path, *words: str, **resources: Any) -> str:
    template = {"heat_template_version": "2021-04-16", "parameters": {"n": {"type": "number", "default": 2}}}
    (folder / "t.yaml").write_text(json.dumps({**template, "resources": resources}))
    done = CliRunner().invoke(main, ["graph", str(folder / "t.yaml"), *words])
    assert done.exit_code == 0, done.output
    return done.output


def group(count: Any, member: Any = None, kind: str = "OS::Heat::ResourceGroup") -> dict[str, Any]:
    return {"type": kind, "properties": {"count": count, "resource_def": member or MEMBER}}


def test_members_of_a_group_are_inside_it(tmp_path: Path) -> None:
    picture = drawn(tmp_path, g=group({"get_param": "n"}), after={**MEMBER, "depends_on": "g"})
    assert 'subgraph "cluster_g"' in picture
    assert [f'"g/{name}" [label="{name}\\nOS::Heat::RandomString"];' in picture for name in (0, 1, 2)] == [
        *(True, True, False)
    ]
    assert '"after" -> "g";' in picture
    assert '"g/0"' not in drawn(tmp_path, "--nested-depth", "0", g=group(2))


def test_members_that_are_templates_are_drawn_one_level_deeper(tmp_path: Path) -> None:
    (tmp_path / "in.yaml").write_text(json.dumps({"heat_template_version": "2021-04-16", "resources": {"r": MEMBER}}))
    groups = {"g": group(1, {"type": "in.yaml"})}
    assert ['"g/0/r"' in drawn(tmp_path, "--nested-depth", depth, **groups) for depth in ("1", "2")] == [False, True]


def test_values_known_later_in_members_do_not_matter_but_an_unknown_number_does(tmp_path: Path) -> None:
    later = {"get_attr": ["a", "value"]}
    member = {"type": "OS::Heat::Value", "properties": {"value": later}}
    assert '"g/1"' in drawn(tmp_path, a=MEMBER, g=group(2, member))
    assert '"g" [label="g\\nOS::Heat::ResourceGroup"];' in drawn(tmp_path, a=MEMBER, g=group(later))


@pytest.mark.parametrize("name", ["OS::Heat::AutoScalingGroup", "OS::Heat::InstanceGroup", "OS::Heat::Stack"])
def test_other_types_with_a_stack_inside_are_drawn_or_a_box(tmp_path: Path, name: str) -> None:
    ways = {
        "OS::Heat::AutoScalingGroup": {"min_size": 1, "max_size": 2, "resource": MEMBER},
        "OS::Heat::InstanceGroup": {"Size": 1, "AvailabilityZones": ["nova"], "LaunchConfigurationName": "x"},
        "OS::Heat::Stack": {"template": json.dumps({"heat_template_version": "2021-04-16", "resources": {}})},
    }
    assert name in drawn(tmp_path, a={"type": name, "properties": ways[name]})
