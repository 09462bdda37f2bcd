"""User-data as text: the parts of Heat's reference, the limits, and what each kind of input becomes."""

import base64
import gzip
import json
import random
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from calor.cloudinit import (
    AgentBoot,
    CfnEndpoint,
    Kind,
    MimePart,
    UserDataFormat,
    UserDataTooLarge,
    cloud_config,
    kind_of,
    multipart_mime,
    raw,
    render,
    software_config,
    split,
)
from calor.cloudinit.mime import Part, assemble

CFN = CfnEndpoint(url="http://heat-cfn.example:8000/v1/")
AGENT = AgentBoot(server="http://s", instance_id="i", bootstrap_token="t0ken", agent_url="/a", agent_sha256="0")
SCRIPT = "#!/bin/sh\necho hello\n"
MULTIPART = """Content-Type: multipart/mixed; boundary="=B="
MIME-Version: 1.0

--=B=
Content-Type: text/x-shellscript; charset="us-ascii"
Content-Disposition: attachment; filename="a.sh"

#!/bin/sh
echo a
--=B=
Content-Type: text/cloud-config
Content-Disposition: attachment; filename="b.cfg"

#cloud-config
{}
--=B=--
"""
INPUTS: dict[str, tuple[str, dict[str, Any] | None]] = {
    "plain_script_without_metadata": (SCRIPT, None),
    "plain_script_with_metadata": (SCRIPT, {"a": "b"}),
    "no_user_data_with_metadata": ("", {"a": "b"}),
    "non_ascii_user_data": ("#!/bin/sh\necho héllo\n", {"a": "b"}),
    "multipart_user_data": (MULTIPART, {"a": "b"}),
}


def described(data: bytes) -> list[dict[str, Any]]:
    message = message_from_bytes(data)
    parts: Any = message.get_payload()
    return [
        {
            "charset": part.get_content_charset(),
            "content_type": part.get_content_type(),
            "disposition": part.get_content_disposition(),
            "filename": part.get_filename(),
            "transfer_encoding": part.get("content-transfer-encoding"),
        }
        for part in parts
    ]


@pytest.mark.parametrize("user_data_format", [UserDataFormat.HEAT_CFNTOOLS, UserDataFormat.SOFTWARE_CONFIG])
@pytest.mark.parametrize("name", INPUTS)
def test_parts_are_those_that_heat_makes(shared: Path, user_data_format: UserDataFormat, name: str) -> None:
    observed = json.loads((shared / "reference/userdata.json").read_text())["observed_parts"]
    wanted = observed[f"{user_data_format.value}/{name}"]["parts"]
    user_data, metadata = INPUTS[name]
    made = described(render(user_data, user_data_format=user_data_format, metadata=metadata, cfn=CFN))
    if (user_data_format, name) == (UserDataFormat.HEAT_CFNTOOLS, "multipart_user_data"):
        # F094: Heat leaves MIME in a file that nothing reads; here its parts take effect as well.
        assert [part["filename"] for part in made if part not in wanted] == ["a.sh", "b.cfg"]
        made = [part for part in made if part in wanted]
    assert made == wanted


@pytest.mark.parametrize("name", INPUTS)
def test_raw_user_data_is_passed_on_unchanged(name: str) -> None:
    user_data, metadata = INPUTS[name]
    assert render(user_data, user_data_format=UserDataFormat.RAW, metadata=metadata) == user_data.encode()


@pytest.mark.parametrize(
    ("begins", "kind"),
    [
        ("#cloud-config\n", Kind.CLOUD_CONFIG),
        ("#cloud-config-archive\n", Kind.CLOUD_CONFIG_ARCHIVE),
        ("#!/bin/sh\n", Kind.SCRIPT),
        ("#include\nhttps://x\n", Kind.INCLUDE),
        ("#include-once\nhttps://x\n", Kind.INCLUDE_ONCE),
        ("#cloud-boothook\n", Kind.BOOTHOOK),
        ("## template: jinja\n#cloud-config\n", Kind.JINJA),
        ('{"ignition": {"version": "3.3.0"}}', Kind.IGNITION),
        ('{"not": "ignition"}', Kind.OTHER),
        (MULTIPART, Kind.MIME),
        (gzip.compress(b"x", mtime=0), Kind.GZIP),
        ("", Kind.OTHER),
        ("some words\n", Kind.OTHER),
        ("#!/bin/sh\n# MIME-Version: 1.0\n# Content-Type: multipart/mixed\n", Kind.SCRIPT),
    ],
)
def test_f094_user_data_is_known_by_its_beginning(begins: str | bytes, kind: Kind) -> None:
    assert kind_of(begins) is kind


@pytest.mark.parametrize("version", ["2.2.0", "3.3.0"])
def test_f094_ignition_stays_ignition(version: str) -> None:
    document = json.dumps({"ignition": {"version": version}, "storage": {"files": [{"path": "/mine"}]}})
    assert software_config(document) == document.encode()
    assert software_config(document, agent=AGENT) == document.encode()
    files = json.loads(software_config(document, metadata={"k": "ü"}))["storage"]["files"]
    assert [file["path"] for file in files] == [
        "/mine",
        "/var/lib/heat-cfntools/cfn-init-data",
        "/var/lib/cloud/data/cfn-init-data",
    ]
    assert ("filesystem" in files[1]) == version.startswith("2")
    assert files[1]["mode"] == 416


def noise(size: int) -> str:
    """A script that gzip cannot make smaller than about three quarters."""
    return "#!/bin/sh\n#" + base64.b64encode(random.Random(size).randbytes(size)).decode()[: size - 11]


@pytest.mark.parametrize("size", [40_000, 49_149])
def test_f092_what_fits_goes_plain(size: int) -> None:
    text = "#!/bin/sh\n" + "x" * (size - 10)
    assert raw(text) == text.encode()


@pytest.mark.parametrize("size", [49_152, 65_535, 70_000, 500_000])
def test_f092_what_is_too_large_goes_compressed(size: int) -> None:
    text = "#!/bin/sh\n" + "x" * (size - 10)
    assert gzip.decompress(raw(text)) == text.encode()
    packed = software_config(text)
    assert packed.startswith(b"\x1f\x8b")
    assert len(base64.b64encode(packed)) <= 65_535


def test_f092_what_cannot_be_made_to_fit_is_refused_with_the_size_of_each_part() -> None:
    with pytest.raises(
        UserDataTooLarge, match=r"49,149.*65,535.*user data \(text/plain\) 70,000.*part-handler.py"
    ) as refused:
        software_config(noise(70_000))
    assert refused.value.size > refused.value.limit
    assert max(refused.value.sizes.values()) == 70_000


def test_f092_what_only_cloud_init_could_unpack_is_not_compressed_for_others() -> None:
    with pytest.raises(UserDataTooLarge):
        raw('{"ignition": {"version": "3.3.0"}, "x": "' + "y" * 60_000 + '"}')


def test_a_lower_limit_of_the_server_is_kept() -> None:
    with pytest.raises(UserDataTooLarge, match="16,384"):
        software_config(noise(20_000), limit=16_384)


def test_f093_nested_parts_keep_bytes_names_types_and_headers() -> None:
    inner = MULTIPART.replace("echo a", "echo é").replace('attachment; filename="b.cfg"', "inline\nMerge-Type: list()")
    outer = multipart_mime(
        [MimePart(config=inner, type="multipart"), MimePart(config="ß", subtype="x-y", filename="c")]
    )
    assert outer.isascii()
    first, second, third = split(outer)
    assert (first.content, first.filename) == ("#!/bin/sh\necho é".encode(), "a.sh")
    assert ("Merge-Type", "list()") in second.headers
    assert (third.content, third.filename, third.content_type) == ("ß".encode(), "c", 'text/x-y; charset="utf-8"')


def test_a_multipart_entry_that_is_none_goes_as_text() -> None:
    assert [part.content for part in split(multipart_mime([MimePart(config=SCRIPT, type="multipart")]))] == [
        SCRIPT.encode()
    ]


CONTENT = st.one_of(
    st.binary(), st.text().map(str.encode), st.sampled_from([b"\r\n", b"a\rb", b"\n\n", b"From x\n.\n"])
)


@given(st.lists(CONTENT, min_size=1, max_size=4))
def test_f100_any_bytes_survive_assembly_and_splitting(contents: list[bytes]) -> None:
    parts = [Part(content=content, content_type="text/plain", filename=f"{n}") for n, content in enumerate(contents)]
    assert [(part.content, part.filename) for part in split(assemble(parts))] == [
        (part.content, part.filename) for part in parts
    ]


def test_the_same_input_gives_the_same_bytes() -> None:
    assert software_config(noise(49_000), agent=AGENT) == software_config(noise(49_000), agent=AGENT)


def test_f101_the_agents_identity_prints_without_its_token() -> None:
    assert "t0ken" not in repr(AGENT)
    assert b"t0ken" in software_config(SCRIPT, agent=AGENT)


def test_f047_ipv6_endpoint_is_bracketed_and_https_is_secure() -> None:
    text = render(
        "", user_data_format=UserDataFormat.HEAT_CFNTOOLS, cfn=CfnEndpoint(url="https://[2001:db8::1]:8000/v1/")
    )
    assert b"cfn_region_endpoint = [2001:db8::1]\n" in text
    assert b"is_secure = 1\n" in text


PLAIN_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False, width=32) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def is_plain_yaml(value: Any) -> bool:
    """PyYAML reads 1e+16 as text (no dot), so such floats are left out; surrogates cannot be text at all."""
    text = json.dumps(value, ensure_ascii=False)
    return "e" not in text.replace("true", "").replace("false", "") and not any("\ud800" <= c <= "\udfff" for c in text)


@given(st.dictionaries(st.text(alphabet="abc:- #ü'"), PLAIN_VALUES, max_size=3).filter(is_plain_yaml))
def test_cloud_config_reads_back_as_it_was_written(config: dict[str, Any]) -> None:
    text = cloud_config(config)
    assert text.startswith("#cloud-config\n")
    assert yaml.safe_load(text) == config


def test_cloud_config_is_for_readers() -> None:
    text = cloud_config(
        {"packages": ["nginx"], "write_files": [{"path": "/a", "content": "x\ny", "permissions": "0755"}]}
    )
    assert text == (
        '#cloud-config\npackages:\n  - nginx\nwrite_files:\n  -\n    path: /a\n    content: "x\\ny"\n'
        '    permissions: "0755"\n'
    )


def test_the_cfn_tools_travel_with_user_data_that_calls_them() -> None:
    agent = AgentBoot(server="http://s", instance_id="i", bootstrap_token="t", agent_url="/a", agent_sha256="0" * 64)

    def names(text: str) -> list[str]:
        data = render(
            text,
            user_data_format=UserDataFormat.HEAT_CFNTOOLS,
            cfn=CfnEndpoint(url="http://s:8000/v1/"),
            agent=agent,
        )
        return [str(part.get_filename()) for part in message_from_bytes(data).walk() if part.get_filename()]

    with_tools, without = names("#!/bin/sh\n/opt/aws/bin/cfn-signal -e 0 URL\n"), names("#!/bin/sh\nconfigure\n")
    assert [name for name in with_tools if name not in without] == ["000-calor-agent"]
