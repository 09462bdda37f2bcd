"""How far root inside a sandbox gets, searched rather than guessed: files of this machine, settings of its kernel."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.root, pytest.mark.slow]

PLACES = (
    "/root",
    "/home",
    "/opt",
    "/srv",
    "/var/lib",
    "/var/log",
    "/var/tmp",
    "/tmp",
    "/usr/local/lib",
    "/etc",
    "/mnt",
)
SHOWN = {"bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt", "opt", "proc", "root"}
SHOWN |= {"run", "sbin", "srv", "sys", "tmp", "usr", "var"}

WRITABLE = """
import os, stat
for top in ("/proc", "/sys"):
    for folder, folders, files in os.walk(top):
        if folder == "/proc":
            folders[:] = [name for name in folders if not name.isdigit() and name not in ("self", "thread-self")]
        for name in files:
            path = os.path.join(folder, name)
            try:
                mode = os.stat(path).st_mode
                if stat.S_ISREG(mode) and mode & 0o222:
                    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                    print(path)
            except OSError:
                pass
"""

BY_HANDLE = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
for place in ("/", "/usr", "/etc", "/tmp", "/run", "/dev", "/proc", "/sys"):
    where = os.open(place, os.O_RDONLY)
    for number in (1, 2, 128, 256):
        for kind, size in ((1, 8), (0x81, 12)):
            handle = ctypes.create_string_buffer(struct.pack("Ii", size, kind) + struct.pack("IIQ", number, 0, 0))
            found = libc.open_by_handle_at(where, handle, os.O_RDONLY)
            if found >= 0:
                print(place, number, os.listdir(found))
print("searched")
"""

PROCESSES = """
for entry in /proc/[0-9]*; do
    ls "$entry/root/" 2>/dev/null
    ls "$entry/cwd/../../../../" 2>/dev/null
done | sort -u
"""


@pytest.fixture
def planted() -> Iterator[str]:
    """A word in files all over this machine."""
    word, name = uuid.uuid4().hex, f"calor-planted-{uuid.uuid4().hex[:8]}"
    files = [Path(place) / name for place in PLACES if os.path.isdir(place)]
    try:
        for file in files:
            file.write_text(word)
        yield word
    finally:
        for file in files:
            file.unlink(missing_ok=True)


async def by_python(bench: Any, program: str) -> tuple[int, str]:
    status, output = await bench.inside(
        "box", f"cat >/root/program.py <<'EOF'\n{program}\nEOF\npython3 /root/program.py"
    )
    return status, output.strip()


async def test_no_file_of_this_machine_is_found_but_what_is_shown(bench: Any, planted: str) -> None:
    await bench.spawn("box")
    places = "/etc /root /home /opt /srv /var /tmp /mnt /usr/local"
    named = await bench.inside("box", f"find {places} -name 'calor-planted-*'")
    assert named == (0, "")
    assert await bench.inside("box", f"grep -rl {planted} {places}") == (1, "")
    _, names = await bench.inside("box", "ls -A /")
    assert set(names.split()) <= SHOWN


async def test_a_file_written_inside_does_not_come_out(bench: Any) -> None:
    await bench.spawn("box")
    name, places = f"calor-inner-{uuid.uuid4().hex[:8]}", (*PLACES, "/usr", "/usr/bin")
    written = (
        f"for folder in {' '.join(places)}; do mkdir -p $folder; echo x > $folder/{name}; done; cat /usr/bin/{name}"
    )
    status, output = await bench.inside("box", written)
    assert (status, output) == (0, "x\n")
    assert [place for place in places if os.path.exists(f"{place}/{name}")] == []


async def test_no_setting_of_the_kernel_can_be_opened_for_writing(bench: Any) -> None:
    await bench.spawn("box")
    assert await by_python(bench, WRITABLE) == (0, "")


async def test_files_cannot_be_opened_past_the_mounts(bench: Any) -> None:
    """By handle, as the first escape from containers did it."""
    await bench.spawn("box")
    assert await by_python(bench, BY_HANDLE) == (0, "searched")


async def test_processes_lead_nowhere_else(bench: Any) -> None:
    await bench.spawn("box")
    _, output = await bench.inside("box", PROCESSES)
    assert output.split()
    assert set(output.split()) <= SHOWN
