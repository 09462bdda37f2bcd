"""Templates of files with a ``context``: the cases of Mustache's specification that a config may meet."""

import pytest

from calor.cfntools import mustache


@pytest.mark.parametrize(
    ("template", "context", "wanted"),
    [
        ("Hello {{ name }}!", {"name": "<b>&\"'"}, "Hello &lt;b&gt;&amp;&quot;&#x27;!"),
        ("{{{name}}} {{&name}}", {"name": "<b>"}, "<b> <b>"),
        ("[{{nothing}}]", {}, "[]"),
        ("{{a.b.c}} {{a.x.c}}", {"a": {"b": {"c": 1.5}}}, "1.5 "),
        ("{{#on}}yes{{/on}}{{^on}}no{{/on}}", {"on": True}, "yes"),
        ("{{#on}}yes{{/on}}{{^on}}no{{/on}}", {"on": []}, "no"),
        ("{{#list}}<{{.}}>{{/list}}", {"list": [1, "b"]}, "<1><b>"),
        (
            "{{#hosts}}{{name}}={{port}};{{/hosts}}",
            {"port": 80, "hosts": [{"name": "a"}, {"name": "b", "port": 1}]},
            "a=80;b=1;",
        ),
        ("a\n  {{#on}}\nb\n  {{/on}}\nc\n", {"on": 1}, "a\nb\nc\n"),
        ("a{{! a comment }}b\n{{! alone }}\nc", {}, "ab\nc"),
        ("{{=<% %>=}}<%name%> {{name}}", {"name": "x"}, "x {{name}}"),
        ("{{#a}}{{#b}}{{c}}{{/b}}{{/a}}", {"a": {"c": 1}, "b": {"d": 2}}, "1"),
        ("{{t}}{{f}}", {"t": True, "f": False}, "truefalse"),
    ],
)
def test_rendering(template, context, wanted):
    assert mustache.render(template, context) == wanted


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("a\n{{#x}}", "line 2: x begins here and does not end"),
        ("{{/x}}", "line 1: x ends here but does not begin"),
        ("{{#a}}{{/b}}", "b ends here but does not begin"),
        ("{{x", "a tag that does not end"),
        ("{{> other}}", "no partials: other"),
        ("{{=a=}}", "delimiters must be two"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(template, message):
    with pytest.raises(mustache.TemplateFault, match=message):
        mustache.render(template, {})
