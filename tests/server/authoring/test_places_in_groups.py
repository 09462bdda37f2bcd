"""What is wrong with the members of a group is told where the group's template says it."""

from pathlib import Path

from calor.server.authoring.checking import Wanted, check

MEMBER = """heat_template_version: 2018-08-31
parameters:
  size:
    type: number
    constraints: [{range: {max: 3}}]
resources:
  x: {type: OS::Heat::Value, properties: {value: {get_param: size}}}
"""
GROUP = """heat_template_version: 2018-08-31
parameters: {big: {type: number, default: 9}}
resources:
  g:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def:
        type: %s
        properties:
          %s
"""


def places(folder: Path, kind: str, prop: str) -> list[tuple[str, int, int, str]]:
    (folder / "member.yaml").write_text(MEMBER)
    (folder / "t.yaml").write_text(GROUP % (kind, prop))
    report = check(Wanted(template=folder / "t.yaml"))
    return [(one.file, one.line, one.column, one.message) for one in report.problems]


def test_an_unknown_property_stands_at_its_key(tmp_path: Path) -> None:
    message = "There is no property 'siez' (did you mean 'size'?)."
    assert places(tmp_path, "member.yaml", "siez: 3") == [("t.yaml", 11, 11, message)]


def test_a_wrong_value_of_a_members_parameter_stands_where_it_is_written(tmp_path: Path) -> None:
    message = "The parameter 'size' has a wrong value: 5 is not at most 3."
    assert places(tmp_path, "member.yaml", "size: 5") == [("t.yaml", 11, 17, message)]


def test_a_wrong_value_of_a_members_property_stands_where_it_is_written(tmp_path: Path) -> None:
    message = "0 is not between 1 and 512."
    assert places(tmp_path, "OS::Heat::RandomString", "length: 0") == [("t.yaml", 11, 19, message)]


def test_an_unknown_type_of_members_stands_at_the_type(tmp_path: Path) -> None:
    ((file, line, column, message),) = places(tmp_path, "OS::Heat::RandomStrin", "length: 1")
    assert (file, line, column) == ("t.yaml", 9, 15)
    assert "'OS::Heat::RandomString'" in message


def test_a_missing_property_of_members_stands_at_their_properties(tmp_path: Path) -> None:
    ((_, line, _, message),) = places(tmp_path, "member.yaml", "{}")
    assert (line, message) == (10, "The property 'size' is required.")


def test_a_value_that_a_nested_templates_resource_gives_stands_there(tmp_path: Path) -> None:
    (tmp_path / "member.yaml").write_text(MEMBER)
    head = "heat_template_version: 2018-08-31\nparameters: {big: {type: number, default: 9}}\nresources:\n"
    (tmp_path / "t.yaml").write_text(f"{head}  n:\n    type: member.yaml\n    properties: {{size: 5}}\n")
    (problem,) = check(Wanted(template=tmp_path / "t.yaml")).problems
    assert (problem.file, problem.line, problem.path) == ("t.yaml", 6, "resources.n.properties.size")
    (tmp_path / "t.yaml").write_text(
        f"{head}  n:\n    type: member.yaml\n    properties: {{size: {{get_param: big}}}}\n"
    )
    (problem,) = check(Wanted(template=tmp_path / "t.yaml")).problems
    assert (problem.file, problem.path) == ("member.yaml", "parameters.size")
