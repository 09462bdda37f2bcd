"""What the cache of images holds is listed with its size, and removed; a build looks at its place first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from calor.server.cli import main
from calor.server.devcloud.images import Image, cache_dir, disk

A, B, C = "a" * 12, "b" * 12, "c" * 12


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two versions of debian-12 on two bases, a disk with its base, and what a killed build left."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = cache_dir()
    for base in (f"debian-12-{A}", f"debian-12-{B}", f"debian-12-vm-{C}"):
        (folder / "bases" / base).mkdir(parents=True)
        (folder / "bases" / base / "file").write_bytes(b"x" * 3 * disk.MIB)
    for ident in (A, B):
        path = folder / f"debian-12-{ident}"
        (path / "root").mkdir(parents=True)
        Image(name="debian-12", path=path, layers={"/": [path / "root", folder / f"bases/debian-12-{ident}"]}).save()
    vm = folder / f"debian-12-vm-{C}"
    vm.mkdir()
    (vm / "disk.raw").write_bytes(b"x" * 5 * disk.MIB)
    Image(name="debian-12-vm", path=vm, layers={}, disk="disk.raw", disk_format="raw").save()
    (folder / f"host-{A}").mkdir()
    return folder


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["image", *words])


def left(cache: Path) -> list[str]:
    return sorted(str(each.relative_to(cache)) for pattern in ("*-*", "bases/*") for each in cache.glob(pattern))


def test_the_list_says_what_each_is_and_how_large(cache: Path) -> None:
    lines = run("list").output.splitlines()
    rows = [line.split() for line in lines[:-1]]
    assert sorted((row[0], row[1]) for row in rows) == [
        ("debian-12", "base"), ("debian-12", "base"), ("debian-12", "sandbox"), ("debian-12", "sandbox"),
        ("debian-12-vm", "base"), ("debian-12-vm", "raw"), ("host", "unfinished"),
    ]  # fmt: skip
    (vm,) = [row for row in rows if row[1] == "raw"]
    assert 5 <= int(vm[2]) <= 6
    assert vm[-1] == str(cache / f"debian-12-vm-{C}/disk.raw")
    assert lines[-1].endswith(f"MiB in {cache}")


def test_a_name_is_removed_in_all_versions_and_with_its_bases_only(cache: Path) -> None:
    answer = run("remove", "debian-12")
    assert answer.exit_code == 0, answer.output
    assert left(cache) == [f"bases/debian-12-vm-{C}", f"debian-12-vm-{C}", f"host-{A}"]
    assert f"Removed {cache}/debian-12-{A}" in answer.output
    assert answer.output.endswith("MiB are free again.\n")


def test_all_is_everything(cache: Path) -> None:
    assert run("remove", "--all").exit_code == 0
    assert left(cache) == []
    assert run("list").output == f"{cache} has no image.\n"


def test_unknown_names_and_no_name_are_refused(cache: Path) -> None:
    before = left(cache)
    assert "There is no image debian-99" in run("remove", "debian-12", "debian-99").output
    assert run("remove").exit_code == 2
    assert run("remove", "--all", "host").exit_code == 2
    assert left(cache) == before


def test_what_something_that_runs_has_open_is_not_removed(cache: Path) -> None:
    path = cache / f"debian-12-vm-{C}/disk.raw"
    code = "import sys; file = open(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        before = left(cache)
        answer = run("remove", "--all")
        assert answer.exit_code == 1
        assert f"A running server is made of {path.parent}" in answer.output
        assert left(cache) == before
        holder.communicate()
    assert run("remove", "debian-12-vm").exit_code == 0


def test_a_build_looks_for_its_folder_before_anything_else(cache: Path, tmp_path: Path) -> None:
    output = tmp_path / "nowhere/deep/x.qcow2"
    answer = run("build", "--format", "qcow2", "--output", str(output))
    assert answer.exit_code == 1
    assert f"There is no folder {output.parent} for x.qcow2" in answer.output
    assert not (tmp_path / "nowhere").exists()
    assert "cannot be written" in run("build", "--format", "raw", "--output", "/proc/x.raw").output or os.geteuid() == 0


def test_a_size_that_nothing_fits_on_is_refused_before_the_build(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "_check_machine", lambda wanted: None)
    answer = run("build", "--format", "raw", "--size", "100")
    assert answer.exit_code == 1
    assert "--size must be at least 350 (MiB)" in answer.output
    base = disk._base_path(cache, disk.Wanted(format="raw", size=100))
    base.mkdir()
    (base / "file").write_bytes(b"x" * 80 * disk.MIB)
    least = disk._least(base) // disk.MIB
    assert 110 < least < 130
    assert f"--size must be at least {least}" in run("build", "--format", "raw", "--size", "100").output
