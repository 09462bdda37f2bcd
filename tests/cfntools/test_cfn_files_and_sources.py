"""Files and sources: where their content comes from, what is refused, and what a second run leaves alone."""

import base64
import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import stat
import tarfile
import zipfile

import pytest

from calor.cfntools import init


@pytest.fixture
def apply(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path / "no-root"))

    def run(config, **more):
        path = tmp_path / "metadata.json"
        path.write_text(json.dumps({"AWS::CloudFormation::Init": {"config": config}, **more}))
        code = init.main(["-v", str(path)])
        return code, capfd.readouterr()

    return run


def tarball(names: dict[str, bytes], mode: str = "w:gz") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as tar:
        for name, content in names.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o4755
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def zipped(names: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in names.items():
            archive.writestr(name, content)
        link = zipfile.ZipInfo("link")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "sub/file")
    return packed.getvalue()


# --- files ---


def test_a_context_makes_content_and_sources_mustache_templates(apply, tmp_path, listener):
    listener.answers = [(200, b"port={{port}}\n")]
    files = {
        str(tmp_path / "a"): {"content": "Hello {{name}}", "context": {"name": "you"}},
        str(tmp_path / "b"): {"source": listener.url, "context": {"port": 80}},
    }
    assert apply({"files": files})[0] == 0
    assert (tmp_path / "a").read_text() == "Hello you"
    assert (tmp_path / "b").read_text() == "port=80\n"
    code, said = apply({"files": {str(tmp_path / "a"): {"content": "{{#x}}", "context": {}}}})
    assert code == 1
    assert "as a Mustache template: line 1: x begins here" in said.err


def test_only_what_differs_is_written_and_the_old_file_stays_beside_it(apply, tmp_path):
    path = tmp_path / "conf"
    path.write_text("old")
    path.chmod(0o600)
    code, said = apply({"files": {str(path): {"content": "new"}}})
    assert (code, path.read_text(), (tmp_path / "conf.bak").read_text()) == (0, "new", "old")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600, "without a mode that of the file stays"
    before = path.stat()
    assert "nothing changed" in apply({"files": {str(path): {"content": "new"}}})[1].out
    assert path.stat().st_ino == before.st_ino
    code, said = apply({"files": {str(path): {"content": "new", "mode": "000644"}}})
    assert "files: 1 changed, 0 unchanged" in said.out
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [name for name in os.listdir(tmp_path) if name.startswith(".cfn-init")] == []


def test_a_password_goes_to_its_own_address_only(apply, tmp_path, listener):
    accounts = {
        "named": {"type": "basic", "username": "u", "password": "p"},
        "covering": {
            "type": "basic",
            "username": "c",
            "password": "d",
            "uris": [listener.url.split("//")[1] + "/private"],
        },
        "digest": {"type": "Digest", "username": "x"},
    }
    files = {
        "1": {"source": listener.url + "/x", "authentication": "named"},
        "2": {"source": listener.url + "/private/x"},
        "3": {"source": listener.url + "/privately"},
    }
    paths = {str(tmp_path / name): value for name, value in files.items()}
    assert apply({"files": paths}, **{"AWS::CloudFormation::Authentication": accounts})[0] == 0
    sent = [headers.get("Authorization") for headers in listener.headers]
    assert sent == ["Basic " + base64.b64encode(b"u:p").decode(), "Basic " + base64.b64encode(b"c:d").decode(), None]
    for name, message in (("nosuch", "there is no nosuch"), ("digest", "type Digest; known: basic, S3")):
        wanted = {str(tmp_path / "x"): {"source": listener.url, "authentication": name}}
        code, said = apply({"files": wanted}, **{"AWS::CloudFormation::Authentication": accounts})
        assert code == 1
        assert message in said.err


def test_a_key_that_has_no_effect_is_warned_of(apply, tmp_path):
    code, said = apply({"files": {str(tmp_path / "x"): {"content": "", "modus": "0600"}}})
    assert code == 0
    assert "key modus is not known and has no effect" in said.err


def test_a_server_that_is_down_for_a_moment_is_asked_again(apply, tmp_path, listener, monkeypatch):
    monkeypatch.setattr("calor.cfntools.fetching.PATIENCE", 10)
    monkeypatch.setattr("calor.cfntools.retrying.WAITS", (0.01,))
    listener.answers = [503, "close", (200, b"x")]
    assert apply({"files": {str(tmp_path / "x"): {"source": listener.url}}})[0] == 0
    assert (tmp_path / "x").read_text() == "x"
    listener.answers = [404]
    code, said = apply({"files": {str(tmp_path / "x"): {"source": listener.url}}})
    assert code == 1
    assert "answered 404" in said.err


# --- sources ---


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.tar", tarball({"sub/file": b"data"}, "w")),
        ("x.tgz", tarball({"sub/file": b"data"})),
        ("x.tar.bz2", tarball({"sub/file": b"data"}, "w:bz2")),
        ("x.tar.xz", tarball({"sub/file": b"data"}, "w:xz")),
        ("x.zip", zipped({"sub/file": b"data"})),
    ],
)
def test_archives_are_known_by_their_content(apply, tmp_path, name, content):
    packed = tmp_path / "packed"
    packed.write_bytes(content)
    where = str(tmp_path / "out")
    digest = hashlib.sha256(content).hexdigest()
    assert apply({"sources": {where: {"source": str(packed), "checksum": digest}}})[0] == 0
    assert (tmp_path / "out/sub/file").read_bytes() == b"data"
    assert not (tmp_path / "out/sub/file").stat().st_mode & stat.S_ISUID
    if name == "x.zip":
        assert os.readlink(tmp_path / "out/link") == "sub/file"
    assert "nothing changed" in apply({"sources": {where: "file://" + str(packed)}})[1].out
    (tmp_path / "out/sub/file").write_bytes(b"other")
    assert "sources: 1 changed" in apply({"sources": {where: str(packed)}})[1].out
    code, said = apply({"sources": {where: {"source": str(packed), "checksum": "sha256:" + "0" * 64}}})
    assert code == 1
    assert "its sha256 is " + digest in said.err


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
def test_a_file_that_is_only_compressed_is_put_there_under_its_bare_name(apply, tmp_path, listener, suffix, pack):
    listener.answers = [(200, pack(b"data"))]
    assert apply({"sources": {str(tmp_path / "out"): listener.url + "/dump.sql" + suffix + "?v=1"}})[0] == 0
    assert (tmp_path / "out/dump.sql").read_bytes() == b"data"


def test_githubs_own_directory_is_left_out(apply, tmp_path, monkeypatch):
    packed = tmp_path / "packed"
    packed.write_bytes(tarball({"owner-repo-abc123/file": b"data"}))
    monkeypatch.setattr("calor.cfntools.fetching.Source._local", lambda self: str(packed))
    for number, url in enumerate(
        (
            "https://github.com/owner/repo/tarball/main",
            "https://github.com/owner/repo/archive/refs/tags/v1.tar.gz",
            "https://codeload.github.com/owner/repo/legacy.tar.gz/main",
        )
    ):
        assert apply({"sources": {str(tmp_path / str(number)): url}})[0] == 0
        assert (tmp_path / str(number) / "file").exists()
    assert apply({"sources": {str(tmp_path / "other"): "https://example.com/x.tgz"}})[0] == 0
    assert (tmp_path / "other/owner-repo-abc123/file").exists()


def link_member(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


@pytest.mark.parametrize(
    "members",
    [
        [tarfile.TarInfo("../evil")],
        [tarfile.TarInfo("/abs/evil")],
        [link_member("out", "../..")],
        [link_member("out", "/etc")],
        [link_member("hard", "../../etc/passwd", tarfile.LNKTYPE)],
        [link_member("inside", "sub"), tarfile.TarInfo("inside/file")],
        [link_member("device", "", tarfile.CHRTYPE)],
    ],
)
def test_an_archive_that_would_leave_its_directory_is_refused_as_a_whole(apply, tmp_path, members):
    path = tmp_path / "bad.tar"
    with tarfile.open(path, "w") as tar:
        tar.addfile(tarfile.TarInfo("good"))
        for member in members:
            tar.addfile(member)
    code, said = apply({"sources": {str(tmp_path / "out"): str(path)}})
    assert code == 1
    assert "outside the target" in said.err or "is a device" in said.err
    assert not (tmp_path / "out").exists()


def test_a_zip_that_would_leave_its_directory_is_refused(apply, tmp_path):
    path = tmp_path / "bad.zip"
    path.write_bytes(zipped({"../../evil": b"x"}))
    assert apply({"sources": {str(tmp_path / "out"): str(path)}})[0] == 1
    assert not (tmp_path / "out").exists()


def test_f091_a_hundred_runs_leave_nothing_behind(apply, tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(work))
    (tmp_path / "x.tgz").write_bytes(tarball({"f": b"1"}))
    for _ in range(100):
        apply({"sources": {str(tmp_path / "out"): str(tmp_path / "x.tgz")}})
    assert list(work.iterdir()) == []


def spoilt(content: bytes) -> bytes:
    return content[:40] + bytes(255 - one for one in content[40:60]) + content[60:]


@pytest.mark.parametrize(
    "content",
    [
        spoilt(gzip.compress(bytes(range(256)) * 9, mtime=0)),
        spoilt(bz2.compress(bytes(range(256)) * 9)),
        spoilt(lzma.compress(bytes(range(256)) * 9)),
        spoilt(tarball({"f": bytes(range(256)) * 9})),
        tarball({"f": bytes(range(256)) * 9})[:100],
        zipped({"f": b"x"}).replace(b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01\x00"),
    ],
    ids=["gzip", "bzip2", "xz", "tar.gz", "cut short", "encrypted zip"],
)
def test_a_damaged_archive_is_an_error_with_its_address(apply, tmp_path, content):
    (tmp_path / "x.gz").write_bytes(content)
    code, said = apply({"sources": {str(tmp_path / "out"): str(tmp_path / "x.gz")}})
    assert code == 1
    assert said.err.startswith(f"cfn-init: sources: {tmp_path}/x.gz: ")
    assert not (tmp_path / "out").exists()


def test_what_is_no_archive_is_named(apply, tmp_path):
    (tmp_path / "x").write_text("<html>not found</html>")
    code, said = apply({"sources": {str(tmp_path / "out"): str(tmp_path / "x")}})
    assert code == 1
    assert "neither tar, zip, gzip, bzip2 nor xz" in said.err
