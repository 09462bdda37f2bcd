"""CloudFormation's format beyond what Heat's cases cover: short forms and ``Fn::Sub``."""

from collections.abc import Sequence
from typing import Any

import pytest

from calor.server.errors import InvalidInput
from calor.server.plan import build_graph
from calor.server.template import bind, parse_template, resolve, reveal

HEAD = """AWSTemplateFormatVersion: '2010-09-09'
Parameters:
  Name: {Type: String, Default: web}
  Key: {Type: String, Default: hush, NoEcho: true}
Mappings: {Sizes: {small: {cpu: '1'}}}
Resources:
  box: {Type: 'Test::Any'}
"""


class Known:
    def reference(self, name: str) -> Any:
        return f"id-of-{name}"

    def attribute(self, name: str, path: Sequence[Any]) -> Any:
        return f"{name}:{path[0]}"


def output(value: str) -> Any:
    model = bind(parse_template(f"{HEAD}Outputs: {{o: {{Value: {value}}}}}"))
    return reveal(resolve(model.outputs["o"].value, Known()))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("!Ref Name", "web"),
        ("!Ref box", "id-of-box"),
        ("!GetAtt box.Arn", "box:Arn"),
        ("!GetAtt [box, Arn]", "box:Arn"),
        ("!Join ['-', [a, !Ref Name]]", "a-web"),
        ("!Select [0, !Split [',', 'x,y']]", "x"),
        ("!FindInMap [Sizes, small, cpu]", "1"),
        ("!Base64 text", "text"),
        (
            "!Sub 'n=${Name} r=${box} a=${box.Arn} ${!Name} ${AWS::Region}'",
            "n=web r=id-of-box a=box:Arn ${Name} ap-southeast-1",
        ),
        ("!Sub ['${Name}-${x}', {x: !Ref box}]", "web-id-of-box"),
        ("{'Fn::Sub': 'no variable'}", "no variable"),
        ("{'Fn::Sub': '${Key}'}", "hush"),
    ],
)
def test_short_forms_and_sub_are_read(written: str, value: Any) -> None:
    assert output(written) == value


def test_what_sub_names_is_needed() -> None:
    more = "  other: {Type: 'Test::Any', Properties: {x: !Sub '${box.Arn}'}}\n"
    graph = build_graph(bind(parse_template(HEAD + more)))
    assert graph.requires["other"] == {"box"}


def test_sub_keeps_a_secret() -> None:
    model = bind(parse_template(HEAD + "Outputs: {o: {Value: !Sub 'k=${Key}'}}"))
    assert "hush" not in str(resolve(model.outputs["o"].value, Known()))


@pytest.mark.parametrize("written", ["!Sub '${Nam}'", "!Sub [a, b, c]", "!Sub {a: b}", "!Nothing x", "!Ref Nam"])
def test_wrong_short_forms_are_refused(written: str) -> None:
    with pytest.raises(InvalidInput):
        output(written)
