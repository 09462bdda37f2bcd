"""CSAR archives: read in memory, with every name kept inside."""

import io
import stat
import zipfile

import pytest

from calor.server.errors import InvalidInput, RequestLimitExceeded
from calor.server.tosca import csar, unpack

META = (
    "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: somebody\nEntry-Definitions: Definitions/main.yaml\n"
)
MAIN = "tosca_definitions_version: tosca_simple_yaml_1_0\ntopology_template: {}\n"


def packed(**files: bytes | str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def test_the_template_is_what_the_metadata_name_and_files_are_named_from_its_folder() -> None:
    archive = unpack(
        packed(
            **{
                "TOSCA-Metadata/TOSCA.meta": META,
                "Definitions/main.yaml": MAIN,
                "Definitions/types.yaml": "x",
                "scripts/run.sh": "y",
                "logo.png": b"\x89PNG\0\xff",
            }
        ),
        "a.csar",
    )
    assert (archive.name, archive.template) == ("Definitions/main.yaml", MAIN)
    assert {"types.yaml": "x", "../scripts/run.sh": "y"}.items() <= archive.files.items()
    assert not any("logo" in name for name in archive.files)  # no text


def test_without_metadata_it_is_the_only_template_at_the_root() -> None:
    archive = unpack(packed(**{"web.yaml": MAIN, "types.yaml": "node_types: {}", "lib/other.yaml": MAIN}), "a.zip")
    assert (archive.name, set(archive.files)) == ("web.yaml", {"types.yaml", "lib/other.yaml"})
    with pytest.raises(InvalidInput, match="exactly one template"):
        unpack(packed(**{"web.yaml": MAIN, "other.yaml": MAIN}), "a.zip")


@pytest.mark.parametrize("name", ["../out.sh", "a/../../out.sh", "/etc/out.sh", "..\\out.sh", "C:/out.sh"])
def test_a_name_that_leads_out_of_the_archive_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="leads out of the archive") as caught:
        unpack(packed(**{"web.yaml": MAIN, name: "x"}), "a.zip")
    assert caught.value.problems[0].code == "tosca-archive"


def test_a_link_is_the_text_of_its_target_and_not_followed() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("web.yaml", MAIN)
        link = zipfile.ZipInfo("types.yaml")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/hostname")
    assert unpack(content.getvalue(), "a.zip").files == {"types.yaml": "/etc/hostname"}


def test_an_archive_bomb_is_refused_while_it_unpacks(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = packed(**{"web.yaml": MAIN, "zeros.txt": b" " * (64 << 20)})
    assert len(bomb) < 1 << 20
    with pytest.raises(RequestLimitExceeded, match="more than 16 MiB"):
        unpack(bomb, "a.zip")
    monkeypatch.setattr(csar, "MOST_FILES", 2)
    with pytest.raises(RequestLimitExceeded, match="has 3 files"):
        unpack(packed(**{"a": "", "b": "", "c": ""}), "a.zip")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no archive", "no archive that can be read"),
        (packed(**{"web.yaml": MAIN})[:-30], "no archive that can be read"),
        (packed(**{"TOSCA-Metadata/TOSCA.meta": META}), "not in the archive"),
        (packed(**{"TOSCA-Metadata/TOSCA.meta": "a: [", "web.yaml": MAIN}), "cannot be read"),
        (packed(**{"TOSCA-Metadata/TOSCA.meta": "Entry-Definitions: ../../etc/hostname"}), "not in the archive"),
    ],
)
def test_what_is_no_csar_is_told(content: bytes, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        unpack(content, "a.csar")
