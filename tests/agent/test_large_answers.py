"""Answers of executable hooks that are larger than memory should hold, and any that are not what they should be."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calor.agent import outputs
from calor.agent.hooks import large_answers

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES, max_size=5), st.booleans(), st.sampled_from([None, 2]))
@settings(deadline=None, max_examples=150)
def test_any_map_reads_as_json_reads_it(tmp_path_factory, found, ascii_only, indent):
    path = tmp_path_factory.getbasetemp() / "answer.json"
    path.write_text(json.dumps(found, ensure_ascii=ascii_only, indent=indent), "utf-8", "surrogatepass")
    if path.stat().st_size == 0 or "\\ud" in path.read_bytes().decode("utf-8", "replace"):
        return
    assert large_answers.read(str(path)) == found or not ascii_only


@pytest.mark.parametrize(
    "line", ["a line of words\n", 'quotes "x" and \\ back\n', "ünïcödé ☃ und \U0001f600\n", "x" * 70]
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_long_texts_keep_head_tail_and_a_note(tmp_path, line, ascii_only):
    path = tmp_path / "answer"
    text = "first\n" + line * 60000 + "last\n"
    whole = {"deploy_stdout": text, "n": {"a": ['"]}']}, "deploy_stderr": "e", "deploy_status_code": 3}
    path.write_text(json.dumps(whole, ensure_ascii=ascii_only), encoding="utf-8")
    found = large_answers.read(str(path))
    assert found is not None
    assert {key: found[key] for key in ("n", "deploy_stderr", "deploy_status_code")} == {
        key: whole[key] for key in ("n", "deploy_stderr", "deploy_status_code")
    }
    assert found["deploy_stdout"].startswith("first\n" + line[:50])
    assert found["deploy_stdout"].endswith(line[-50:] + "last\n")
    assert "bytes left out ...]" in found["deploy_stdout"]
    assert len(found["deploy_stdout"]) < outputs.LIMIT


@pytest.mark.parametrize(
    "text", ["", "[1]", '{"a": 1', '{"a" 1}', '{"a": }', '{"a": "x}', "{,}", '{"a": nul}', "plain"]
)
def test_what_is_no_map_is_none(tmp_path, text):
    path = tmp_path / "answer"
    path.write_text(text)
    assert large_answers.read(str(path)) is None


def test_a_map_that_lost_its_middle_still_says_that_the_hook_failed(tmp_path):
    path = tmp_path / "answer"
    path.write_bytes(b'{"deploy_stdout": "abc' + b"\0" * 5000 + b'"", "deploy_status_code": 4}')
    found = large_answers.read(str(path))
    assert found is not None
    assert found["deploy_status_code"] == 4
