"""What a request's templates are checked for before anything is stored, and what not."""

from typing import Any

import pytest

from calor.server.engine.revision.blueprint import draw, examined, validate
from calor.server.errors import InvalidInput
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


@pytest.mark.parametrize(
    ("kind", "policy", "refused"),
    [
        ("OS::Heat::ResourceGroup", {"rolling_update": {"max_batch_size": 2}}, False),
        ("OS::Heat::ResourceGroup", {"batch_create": {"max_batch_size": 0}}, True),
        ("OS::Heat::ResourceGroup", {"rolling_updates": {}}, True),
        ("OS::Heat::ResourceGroup", {"rolling_update": {"pause_time": {"get_attr": ["value", "zz"]}}}, True),
        ("OS::Heat::None", {"rolling_update": {}}, True),
        ("OS::Heat::None", {}, False),
        ("child.yaml", {"anything": 1}, False),
    ],
)
def test_an_update_policy_is_what_the_type_of_its_resource_knows(kind: str, policy: Any, refused: bool) -> None:
    group = {"count": 1, "resource_def": {"type": "OS::Heat::None"}} if kind == "OS::Heat::ResourceGroup" else {}
    resources = {
        "value": {"type": "OS::Heat::RandomString"},
        "r": {"type": kind, "update_policy": policy, "properties": group},
    }
    files = {"child.yaml": CHILD.replace("type: string", "type: string, default: x")}
    template = parse_template({"heat_template_version": "rocky", "resources": resources})
    problems, _ = examined(draw(bind(template, files=files), registry.installed(), files))
    assert [problem.path.startswith("resources.r.update_policy") for problem in problems] == ([True] if refused else [])


@pytest.mark.parametrize(
    ("shape", "refused"),
    [(None, True), ("RAW", True), ("HEAT_CFNTOOLS", True), ("SOFTWARE_CONFIG", False), ({"get_param": "p"}, False)],
)
def test_a_deployment_to_a_server_that_none_can_reach_is_refused(shape: Any, refused: bool) -> None:
    """As by Heat; the group of deployments, too."""
    server = {"image": "i", "flavor": "f", **({} if shape is None else {"user_data_format": shape})}
    resources = {
        "web": {"type": "OS::Nova::Server", "properties": server},
        "one": {"type": "OS::Heat::SoftwareDeployment", "properties": {"server": {"get_resource": "web"}}},
        "all": {
            "type": "OS::Heat::SoftwareDeploymentGroup",
            "properties": {"config": "c", "servers": {"a": {"get_resource": "web"}}},
        },
    }
    template = {"heat_template_version": "2021-04-16", "parameters": {"p": {"type": "string"}}, "resources": resources}
    model = bind(parse_template(template), allow_missing=True)
    if not refused:
        validate(draw(model, registry.installed(), {}))
        return
    with pytest.raises(InvalidInput, match="user_data_format: SOFTWARE_CONFIG") as raised:
        validate(draw(model, registry.installed(), {}))
    assert [one.path for one in raised.value.problems] == [
        "resources.one.properties.server",
        "resources.all.properties.servers",
    ]


@pytest.mark.parametrize("shape", ["SOFTWARE_CONFIG", "RAW"])
def test_the_key_deployments_of_a_servers_metadata_is_not_the_users(shape: str) -> None:
    """As in Heat: what a template wrote there an agent would run at boot."""
    server = {"type": "OS::Nova::Server", "properties": {"image": "i", "flavor": "f", "user_data_format": shape}}
    template = {
        "heat_template_version": "2021-04-16",
        "resources": {"web": {**server, "metadata": {"deployments": []}}},
    }
    if shape == "RAW":
        validate(draw(bind(parse_template(template)), registry.installed(), {}))
        return
    with pytest.raises(InvalidInput, match="the key deployments is for software deployments") as raised:
        validate(draw(bind(parse_template(template)), registry.installed(), {}))
    assert [one.path for one in raised.value.problems] == ["resources.web.metadata"]


async def test_f107_a_server_tells_the_faults_of_all_stages_together_and_makes_nothing(engine: Any) -> None:
    resources = {
        "one": {"type": "OS::Heat::RandomString", "properties": {"length": {"get_param": "sise"}, "lenght": 3}},
        "two": {"type": "OS::Heat::RandomStrin"},
        "three": {"type": "OS::Heat::Value", "properties": {"value": {"get_attr": ["one", "valeu"]}}},
    }
    template = {
        "heat_template_version": "2021-04-16",
        "parameters": {"size": {"type": "number"}},
        "resources": resources,
    }
    with pytest.raises(InvalidInput) as refused:
        await engine.create("stages", template, parameters={"siz": 1})
    assert sorted(problem.code for problem in refused.value.problems) == [
        "missing-parameter",
        "unknown-attribute",
        "unknown-parameter",
        "unknown-parameter",
        "unknown-property",
        "unknown-type",
    ]
