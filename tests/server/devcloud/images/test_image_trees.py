"""What of a machine gets into image `host`, where packages come from, and how images are found."""

import asyncio
import os
from pathlib import Path

import pytest

from calor.server.devcloud.images import (
    Image,
    ImageError,
    apt_sources,
    base_tree,
    building,
    built,
    find,
    guest_parts,
    host,
)
from calor.server.devcloud.images.catalog import load

pytestmark = pytest.mark.root  # who else can set the owners of files


OWNED = ("/.", "/etc/pkg.conf", "/etc/secret.conf", "/etc/key.pem", "/etc/gone", "/var/lib/pkg", "/etc/machine-id")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A small machine with things to show and things to hide."""
    root = tmp_path / "machine"
    files = {
        "etc/pkg.conf": "shown",
        "etc/admin-made.conf": "not of a package",
        "etc/secret.conf": "of a package, but not for everybody",
        "etc/key.pem": "-----BEGIN PRIVATE KEY-----\n",
        "etc/ssh/ssh_host_rsa_key": "host key",
        "etc/ssl/private/snakeoil": "key",
        "etc/ssl/certs/ca.crt": "certificate",
        "etc/machine-id": "this machine",
        "etc/apt/sources.list": "deb https://user:pass@example.org/debian bookworm main",
        "etc/passwd": "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nsshd:x:101:65534:::/bin/false\n",
        "etc/group": "root:x:0:\nsudo:x:27:ann\nann:x:1000:\n",
        "etc/shadow": "root:$6$hash:1::::::\n",
        "var/lib/dpkg/status": "Package: pkg\n",
        "var/lib/dpkg/info/pkg.list": "\n".join(OWNED) + "\n",
        "var/lib/pkg/data": "state of a program",
        "home/ann/letter": "private",
        "root/.ssh/id_rsa": "private",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "etc/secret.conf").chmod(0o640)
    for name in ("bin", "sbin", "lib"):
        (root / name).symlink_to(f"usr/{name}")
    return root


def test_package_files_are_shown_and_everything_personal_is_not(machine: Path, tmp_path: Path) -> None:
    base_tree.copy(tmp_path / "base", machine)
    base = tmp_path / "base"
    shown = {str(each.relative_to(base)) for each in base.rglob("*") if each.is_file() and not each.is_symlink()}
    assert shown == {
        "etc/pkg.conf",
        "etc/ssl/certs/ca.crt",
        "etc/passwd",
        "etc/group",
        "etc/shadow",
        "etc/gshadow",
        "var/lib/dpkg/status",
        "var/lib/dpkg/info/pkg.list",
    }
    assert (base / "bin").readlink() == Path("usr/bin")
    assert (base / "var/lib/pkg").is_dir()


def test_people_are_left_out_and_passwords_locked(machine: Path, tmp_path: Path) -> None:
    base_tree.copy(tmp_path / "base", machine)
    etc = tmp_path / "base/etc"
    assert "ann" not in (etc / "passwd").read_text() + (etc / "group").read_text()
    assert [line.split(":")[:2] for line in (etc / "shadow").read_text().splitlines()] == [["root", "*"], ["sshd", "*"]]
    assert (etc / "shadow").stat().st_mode & 0o777 == 0o640


def test_another_package_state_is_another_image(tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text("Package: a\n")
    first = host.fingerprint(status)
    assert host.fingerprint(status) == first
    status.write_text("Package: b\n")
    assert host.fingerprint(status) != first


def test_our_parts_replace_keys_and_identity(tmp_path: Path) -> None:
    (tmp_path / "etc/ssh").mkdir(parents=True)
    for name in ("ssh/ssh_host_rsa_key", "machine-id"):
        (tmp_path / "etc" / name).write_text("made by a package")
    guest_parts.install(tmp_path / "etc", tmp_path / "usr/local")
    assert not list((tmp_path / "etc/ssh").iterdir())
    assert not (tmp_path / "etc/machine-id").exists()
    assert (tmp_path / "etc/sudoers").stat().st_mode & 0o777 == 0o440
    assert os.access(tmp_path / "usr/local/bin/mount", os.X_OK)


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        (
            "sources.list",
            "deb http://m/debian bookworm main # ours\n#deb http://x bookworm main\ndeb http://n/x nodistro main\n",
            ["deb http://m/debian bookworm main"],
        ),
        (
            "sources.list.d/debian.sources",
            "# a note\nTypes: deb deb-src\nURIs: http://m/debian\nSuites: bookworm bookworm-updates trixie\n"
            "Components: main\nSigned-By: /usr/share/keyrings/k.gpg\n\n"
            "Types: deb\nEnabled: no\nURIs: http://off\nSuites: bookworm\n",
            [
                "deb [signed-by=/usr/share/keyrings/k.gpg] http://m/debian bookworm main",
                "deb [signed-by=/usr/share/keyrings/k.gpg] http://m/debian bookworm-updates main",
            ],
        ),
        ("sources.list.d/other.list", "deb http://o stable main\n", []),
    ],
)
def test_package_sources_are_this_machines(tmp_path: Path, name: str, text: str, lines: list[str]) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    assert apt_sources.lines("bookworm", tmp_path).splitlines() == lines


def test_an_image_is_found_once_it_is_finished_and_the_newest_counts(tmp_path: Path) -> None:
    assert find(tmp_path, "host") is None
    for number, name in enumerate(("host-1", "host-2")):
        path = tmp_path / name
        path.mkdir()
        Image(name="host", path=path, layers={"/": [path / "root"]}).save()
        os.utime(path / "image.json", (number, number))
    (tmp_path / "unfinished").mkdir()
    newest = find(tmp_path, "host")
    assert newest is not None
    assert newest.path.name == "host-2"
    assert [each.path.name for each in built(tmp_path)] == ["host-1", "host-2"]
    assert newest.layers == {"/": [tmp_path / "host-2/root"]}


def test_a_folder_that_is_no_image_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="calor image build"):
        load(tmp_path)


async def test_who_comes_second_waits_for_the_build_of_the_first(tmp_path: Path) -> None:
    order: list[str] = []

    async def build(name: str, held: float) -> None:
        async with building.exclusively(tmp_path):
            order.append(f"{name} begins")
            await asyncio.sleep(held)
            order.append(f"{name} ends")

    await asyncio.gather(build("first", 0.2), build("second", 0))
    assert [each.split()[1] for each in order] == ["begins", "ends", "begins", "ends"]
