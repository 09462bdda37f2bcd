"""Types that live in the stack only: random texts, values, configs, the test resource."""

import email
import string
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from calor.server.resources.base import ResourceFailed, UpdateReplace
from calor.server.resources.heat.random_string import (
    CLASSES,
    CharacterClass,
    CharacterSequence,
    RandomStringProps,
    generate,
)
from calor.server.resources.memory import MemoryContext, Workshop

Bench = Callable[..., MemoryContext]


@given(
    st.lists(
        st.builds(CharacterClass, class_=st.sampled_from(sorted(CLASSES)), min=st.integers(1, 5)),
        min_size=1,
        max_size=4,
    ),
    st.integers(40, 120),
)
def test_a_random_text_has_its_length_and_the_minimum_of_each_class(classes: list[CharacterClass], length: int) -> None:
    want = RandomStringProps(
        length=length,
        character_classes=tuple(classes),
        character_sequences=(CharacterSequence(sequence="-_", min=2),),
    )
    text = generate(want)
    assert len(text) == length
    assert sum(text.count(one) for one in "-_") >= 2
    for one in classes:
        assert sum(letter in CLASSES[one.class_] for letter in text) >= one.min


async def test_a_random_text_is_kept_and_is_its_reference(bench: Bench) -> None:
    context = bench("OS::Heat::RandomString")
    assert await context.kind.reference(context) == "thing", "before it is there: its name"
    await context.make(length=12)
    value = await context.read("value")
    assert len(value) == 12 and set(value) <= set(string.ascii_letters + string.digits)
    await context.kind.create(context, context.was)
    assert await context.read("value") == value == await context.kind.reference(context)


def test_a_length_that_is_too_short_for_its_classes_is_refused(bench: Bench) -> None:
    kind = bench("OS::Heat::RandomString").kind
    assert kind.validate({"length": 3, "character_classes": [{"min": 2}, {"class": "digits", "min": 2}]})
    assert not kind.validate({"length": 4, "character_classes": [{"min": 2}, {"class": "digits", "min": 2}]})


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (None, {"a": 1}, {"a": 1}),
        ("string", 1, "1"),
        ("string", {"a": 1}, '{"a": 1}'),
        ("number", "3", 3),
        ("number", "3.5", 3.5),
        ("comma_delimited_list", "a, b", ["a", "b"]),
        ("comma_delimited_list", "", []),
        ("json", '{"a": [1]}', {"a": [1]}),
        ("boolean", "yes", True),
        ("boolean", "off", False),
    ],
)
async def test_a_value_is_read_as_its_type(bench: Bench, kind: str | None, value: Any, expected: Any) -> None:
    context = bench("OS::Heat::Value")
    await context.make(type=kind, value=value)
    assert await context.read("value") == expected


async def test_a_value_that_is_not_of_its_type_fails(bench: Bench) -> None:
    for kind, value in (("number", "x"), ("json", "{"), ("boolean", "perhaps")):
        with pytest.raises(ResourceFailed, match=kind):
            await bench("OS::Heat::Value").make(type=kind, value=value)


async def test_none_takes_anything_and_answers_null(bench: Bench) -> None:
    context = bench("OS::Heat::None")
    await context.make(whatever=1)
    assert await context.read("anything") is None


async def test_the_test_resource_waits_fails_and_replaces_as_told(bench: Bench) -> None:
    context = bench("OS::Heat::TestResource")
    await context.make(value="a", action_wait_secs={"create": 0.01})
    assert await context.read("output") == "a"
    await context.change(value="b")
    with pytest.raises(UpdateReplace):
        await context.change(value="c", update_replace=True)
    with pytest.raises(ResourceFailed, match="thing"):
        await bench("OS::Heat::TestResource").make(fail=True)
    changed = frozenset({"value"})
    assert context.kind.must_replace({}, {"value": "x", "update_replace_value": "x"}, changed)
    assert context.kind.must_replace({}, {"value": "x"}, changed) is None


async def test_configs_are_stored_under_the_rows_id(workshop: Workshop, bench: Bench) -> None:
    context = bench("OS::Heat::SoftwareConfig")
    values = {"group": "script", "config": "x", "inputs": [{"name": "a"}], "outputs": [{"name": "b"}]}
    assert await context.make(**values) == context.me.id
    stored = workshop.configs.stored[context.me.id]
    assert stored.inputs == [{"name": "a", "type": "String"}]
    assert stored.outputs == [{"name": "b", "type": "String", "error_output": False}]
    assert (await context.read("config"), stored.name) == ("x", context.me.physical_name)
    await context.remove()
    assert workshop.configs.stored == {}


async def test_cloud_config_is_a_document_of_cloud_init(workshop: Workshop, bench: Bench) -> None:
    context = bench("OS::Heat::CloudConfig")
    document = {"packages": ["ä"], "write_files": [{"path": "/x", "content": "a\nb\n"}]}
    await context.make(cloud_config=document)
    text = workshop.configs.stored[context.me.id].config
    assert text.startswith("#cloud-config\n") and yaml.safe_load(text) == document


async def test_multipart_mime_joins_texts_configs_and_messages(workshop: Workshop, bench: Bench) -> None:
    script = bench("OS::Heat::SoftwareConfig")
    await script.make(config="#!/bin/sh\necho ä\n")
    inner = bench("OS::Heat::MultipartMime")
    await inner.make(parts=[{"config": "#cloud-config\n{}", "subtype": "cloud-config", "filename": "c"}])
    outer = bench("OS::Heat::MultipartMime")
    await outer.make(
        parts=[{"config": script.me.id}, {"config": inner.me.id, "type": "multipart"}, {"config": "plain"}]
    )
    message = email.message_from_string(workshop.configs.stored[outer.me.id].config)
    parts = message.get_payload()
    assert isinstance(parts, list)
    assert [part.get_content_type() for part in parts] == ["text/x-shellscript", "text/cloud-config", "text/plain"]
    assert parts[0].get_payload(decode=True) == "#!/bin/sh\necho ä\n".encode()
    assert parts[1].get_filename() == "c"


def test_a_component_names_each_action_once(bench: Bench) -> None:
    kind = bench("OS::Heat::SoftwareComponent").kind
    parts = [{"tool": "script", "actions": ["CREATE"]}, {"tool": "ansible", "actions": ["CREATE", "DELETE"]}]
    assert "CREATE" in kind.validate({"configs": parts})[0]
    assert not kind.validate({"configs": parts[:1]})
