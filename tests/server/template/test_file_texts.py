"""Files that arrive as bytes: text, or a refusal that names them."""

import codecs

import pytest

from calor.server.errors import InvalidInput
from calor.server.template import NothingKnown, bind, parse_template, resolve
from calor.server.template.files import NotText, text_of

READER = {
    "heat_template_version": "2021-04-16",
    "resources": {"r": {"type": "OS::Heat::Value", "properties": {"value": {"get_file": "f"}}}},
}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Grüße\n".encode(), "Grüße\n"),
        (codecs.BOM_UTF8 + "Grüße".encode(), "Grüße"),
        (codecs.BOM_UTF16_LE + "Grüße".encode("utf-16-le"), "Grüße"),
        (codecs.BOM_UTF16_BE + "Grüße".encode("utf-16-be"), "Grüße"),
        (b"", ""),
    ],
)
def test_f119_bytes_become_text_or_a_clear_refusal(content: bytes, text: str) -> None:
    assert text_of(content) == text
    assert not isinstance(text_of(content), NotText)


@pytest.mark.parametrize("content", [bytes(range(256)), b"a\0b", b"\xff\xfe\x00", "Grüße".encode("latin-1")])
def test_f119_what_is_no_text_is_refused_where_it_is_used(content: bytes) -> None:
    files = {"f": text_of(content)}
    with pytest.raises(InvalidInput, match="the file 'f' is not text"):
        bind(parse_template(READER), files=files)
    unused = parse_template({"heat_template_version": "2021-04-16"})
    assert bind(unused, files=files).resources == {}


def test_f119_text_reaches_the_property() -> None:
    model = bind(parse_template(READER), files={"f": text_of("ü".encode())})
    assert resolve(model.resources["r"].properties, NothingKnown()) == {"value": "ü"}
