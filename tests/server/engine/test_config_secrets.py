"""Secrets that a template puts into a config: users read around them, guests get them, runs do not print them."""

import base64
import json
from typing import Any

import pytest
from agent_hosts import guest_of, hot, polled, result_of
from engine_world import USER

from calor.server.engine.contract.progress_views import OutputQuery

SECRET, OTHER = "s3cret-w0rd", "0ther-secret"
HIDDEN = "******"
WORD = {"word": {"type": "string", "hidden": True}}
TEXT = "#!/bin/sh\nlogin -p @word@ # as usual\n"
REPLACED = {"str_replace": {"template": TEXT, "params": {"@word@": {"get_param": "word"}}}}


def config(text: Any, **more: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::SoftwareConfig", "properties": {"group": "script", "config": text, **more}}


def template(text: Any, **more: Any) -> dict[str, Any]:
    resources = {
        "host": {"type": "Test::Host"},
        "c": config(text),
        "d": {
            "type": "OS::Heat::SoftwareDeployment",
            "properties": {"server": {"get_resource": "host"}, "config": {"get_resource": "c"}},
        },
        **more,
    }
    return hot(resources, parameters=WORD)


async def shown(hosts: Any, stack: Any, name: str = "c") -> Any:
    ident = (await hosts.resources(stack))[name].physical_id
    return await hosts.orchestrator.configs.show(USER, ident)


async def alone(hosts: Any, text: Any, word: str = SECRET, name: str = "one", kind: str = "", **more: Any) -> Any:
    """How a config is shown that stands alone in its stack."""
    resource = config(text, **more)
    if kind:
        resource = {"type": kind, "properties": text}
    stack = await hosts.create(name, hot({"c": resource}, parameters=WORD), parameters={"word": word})
    await hosts.reached(stack, "CREATE_COMPLETE")
    return await shown(hosts, stack)


async def test_f164_a_secret_in_a_text_is_hidden_there_and_reaches_the_guest(hosts: Any) -> None:
    stack = await hosts.create("deploy", template(REPLACED), parameters={"word": SECRET})
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who)
    assert found.deployments[0]["config"] == TEXT.replace("@word@", SECRET)
    masked = TEXT.replace("@word@", HIDDEN)
    assert (await shown(hosts, stack)).config == masked
    (listed,) = await hosts.orchestrator.deployments.list(USER, None)
    assert (await hosts.orchestrator.configs.show(USER, listed.config_id)).config == masked
    (document,) = await hosts.orchestrator.deployments.metadata(USER, listed.server_id)
    assert SECRET in document["config"], "that is what agents read"
    resource = await hosts.orchestrator.resources.show(USER, stack.name, stack.id, "c", with_attr=[])
    assert SECRET not in str(resource)
    await hosts.orchestrator.guests.result(who, result_of(found, code=1, deploy_stderr=f"{SECRET} refused"))
    view = await hosts.reached(stack, "CREATE_FAILED")
    assert "****** refused" in view.status_reason


async def test_what_a_run_prints_hides_a_secret_that_only_a_nested_config_was_given(hosts: Any) -> None:
    """The attribute of a nested stack is secret where its output is; nothing of the deployment's own stack is."""
    inner = hot(
        {"c": config(REPLACED)},
        parameters={"word": {"type": "string"}},
        outputs={"id": {"value": {"get_resource": "c"}}},
    )
    outer = template("echo")
    outer["resources"]["c"] = {"type": "inner.yaml", "properties": {"word": {"get_param": "word"}}}
    outer["resources"]["d"]["properties"]["config"] = {"get_attr": ["c", "id"]}
    stack = await hosts.create("nested", outer, parameters={"word": SECRET}, files={"inner.yaml": json.dumps(inner)})
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who)
    mark = {name: found.deployments[0]["calor"][name] for name in ("run_id", "deployment_id")}
    piece = {"stream": "stdout", "offset": 0, "data": base64.b64encode(f"+ login -p {SECRET}\n".encode()).decode()}
    await hosts.orchestrator.guests.output(who, {**mark, "attempt": 1, "pieces": [piece], "final": True})
    page = await hosts.orchestrator.progress.output(USER, stack.name, stack.id, OutputQuery())
    assert [one.data for one in page.pieces] == [b"+ login -p ******\n"]


async def test_configs_without_secrets_are_shown_as_they_are(hosts: Any) -> None:
    text = "#!/bin/sh\necho 'nothing to hide'\n"
    found = await alone(hosts, text, inputs=[{"name": "a", "default": 3}], options={"timeout": 5})
    assert (found.config, found.options) == (text, {"timeout": 5})
    assert found.inputs[0]["default"] == 3
    own = await hosts.orchestrator.configs.create(USER, {"config": f"password={SECRET}", "group": "script"})
    assert (await hosts.orchestrator.configs.show(USER, own.id)).config == f"password={SECRET}", "as it was given"


JOINED = {"list_join": ["=", ["password", {"get_param": "word"}]]}
TWICE = {"str_replace": {"template": REPLACED, "params": {"usual": "always"}}}
BROKEN = {"str_replace": {"template": REPLACED, "params": {"cret": "x"}}}
"""Cuts the secret that stands in its template: what is left of it is nowhere known."""
SPLIT = {"str_replace": {"template": TEXT, "params": {"@word@": {"str_split": ["-", {"get_param": "word"}, 1]}}}}
DIGEST = {"digest": ["sha256", {"get_param": "word"}]}


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (JOINED, "password=******"),
        (TWICE, TEXT.replace("@word@", HIDDEN).replace("usual", "always")),
        (SPLIT, TEXT.replace("@word@", HIDDEN)),
        (BROKEN, HIDDEN),
        (DIGEST, HIDDEN),
        ({"get_param": "word"}, HIDDEN),
    ],
)
async def test_as_much_is_shown_as_is_known_to_be_no_secret(hosts: Any, text: Any, seen: str) -> None:
    assert (await alone(hosts, text)).config.strip() == seen.strip()


async def test_a_text_with_a_secret_too_short_to_be_looked_for_is_hidden_whole(hosts: Any) -> None:
    assert (await alone(hosts, REPLACED, word="ab")).config == HIDDEN


async def test_secrets_in_maps_inputs_and_documents(hosts: Any) -> None:
    word = {"get_param": "word"}
    structured = {"group": "json-file", "config": {"user": "me", "password": word}}
    found = await alone(hosts, structured, kind="OS::Heat::StructuredConfig")
    assert found.config == {"user": "me", "password": HIDDEN}
    found = await alone(hosts, "echo", name="inputs", inputs=[{"name": "password", "default": word}])
    assert (found.config, found.inputs[0]["default"]) == ("echo", HIDDEN)
    document = {"cloud_config": {"users": [{"name": "me", "passwd": word}]}}
    found = await alone(hosts, document, name="cloud", kind="OS::Heat::CloudConfig")
    assert "name: me" in found.config and f"passwd: '{HIDDEN}'".replace("'", "") in found.config.replace("'", "")
    found = await alone(hosts, document, name="quoted", kind="OS::Heat::CloudConfig", word="it's: #a \x07secret")
    assert "secret" not in found.config


async def test_a_multipart_message_hides_what_its_parts_hide(hosts: Any) -> None:
    parts = {"type": "OS::Heat::MultipartMime", "properties": {"parts": [{"config": {"get_resource": "c"}}]}}
    stack = await hosts.create(
        "multi", hot({"c": config(REPLACED), "m": parts}, parameters=WORD), parameters={"word": SECRET}
    )
    await hosts.reached(stack, "CREATE_COMPLETE")
    found = await shown(hosts, stack, "m")
    assert SECRET not in found.config and "login -p ******" in found.config


async def test_the_attributes_of_a_group_hide_what_went_into_its_members(hosts: Any) -> None:
    group = {
        "type": "OS::Heat::SoftwareDeploymentGroup",
        "properties": {"servers": {"0": {"get_resource": "host"}}, "config": {"get_resource": "c"}},
    }
    text = template(REPLACED)
    del text["resources"]["d"]
    text["resources"]["g"] = group
    stack = await hosts.create("group", text, parameters={"word": SECRET})
    who, _ = await guest_of(hosts, stack)
    found = await polled(hosts, who)
    await hosts.orchestrator.guests.result(who, result_of(found, deploy_stdout=f"as {SECRET}"))
    await hosts.reached(stack, "CREATE_COMPLETE")
    view = await hosts.orchestrator.resources.show(USER, stack.name, stack.id, "g", with_attr=["deploy_stdouts"])
    assert view.attributes["deploy_stdouts"] == {"0": "as ******"}
