"""What a request's templates are checked for before anything is stored, and what not."""

from calor.server.engine.blueprint import draw, validate
from calor.server.resources import registry
from calor.server.template import bind, parse_environment, parse_template

CHILD = """heat_template_version: rocky
parameters: {password: {type: string}}
resources: {v: {type: OS::Heat::Value, properties: {value: {get_param: password}}}}
"""


def test_a_template_resource_needs_no_property_that_parameter_defaults_give() -> None:
    template = parse_template("heat_template_version: rocky\nresources: {child: {type: child.yaml}}")
    environment = parse_environment("parameters: {}\nparameter_defaults: {password: s}")
    files = {"child.yaml": CHILD}
    assert validate(draw(bind(template, environment, files=files), registry.installed(), files)) == []


def test_a_resource_that_exists_already_needs_no_properties() -> None:
    text = "heat_template_version: rocky\nresources: {box: {type: OS::Nova::Server, external_id: abc}}"
    assert validate(draw(bind(parse_template(text)), registry.installed(), {})) == []
