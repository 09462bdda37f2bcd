"""The agent as one file: the source trees of ``calor.agent`` and ``calor.cfntools``, packed for ``python3 FILE.pyz``.

Guest code is carried, never imported: the trees are found on the path of the namespace ``calor``, beside the installed
server or in the checkout.
"""

import hashlib
import io
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PARTS = ("agent", "cfntools")
SHEBANG = b"#!/usr/bin/env python3\n"
EPOCH = (2020, 1, 1, 0, 0, 0)
MAIN = "import sys\n\nfrom calor.agent.__main__ import main\n\nsys.exit(main())\n"


class GuestCodeMissing(Exception):  # an installation fault, of no use to an API client
    """The source of the agent is not where the server is installed."""


@dataclass(frozen=True)
class AgentFile:
    """``content`` is the ``.pyz``; ``sha256`` its hexadecimal digest, the name under which it is served."""

    content: bytes
    sha256: str

    def save(self, directory: Path) -> Path:
        """Write it to ``directory/agent-<sha256>.pyz`` unless it is there."""
        path = directory / f"agent-{self.sha256}.pyz"
        if not path.exists():
            directory.mkdir(parents=True, exist_ok=True)
            half = path.with_suffix(".new")
            half.write_bytes(self.content)
            half.replace(path)
        return path


@cache
def build() -> AgentFile:
    """Pack the agent; the same trees give the same bytes."""
    entries: dict[str, bytes] = {"calor/": b"", "__main__.py": MAIN.encode()}
    for part in PARTS:
        tree = _tree(part)
        for name, content in _files(tree):
            entries[f"calor/{part}/{name}"] = content
    content = SHEBANG + _zipped(entries)
    return AgentFile(content, hashlib.sha256(content).hexdigest())


def _tree(part: str) -> Path:
    calor = sys.modules["calor"]
    checkout = Path(__file__).resolve().parents[4]
    places = [Path(root) / part for root in calor.__path__] + [checkout / part / "calor" / part]
    for place in places:
        if (place / "__init__.py").is_file():
            return place
    raise GuestCodeMissing(
        f"calor.{part} is not installed beside calor.server; looked in {', '.join(map(str, places))}"
    )


def _files(tree: Path) -> Iterator[tuple[str, bytes]]:
    """Relative names and contents; folders end with a slash (zipimport needs their entries for a namespace)."""
    yield "", b""
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree).as_posix()
        if "__pycache__" in path.parts or name.startswith("."):
            continue
        if path.is_dir():
            yield f"{name}/", b""
        else:
            yield name, path.read_bytes()


def _zipped(entries: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(entries):
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system = 3
            info.external_attr = (0o40755 << 16) | 0x10 if name.endswith("/") else 0o100644 << 16
            info.compress_type = zipfile.ZIP_STORED if name.endswith("/") else zipfile.ZIP_DEFLATED
            archive.writestr(info, entries[name])
    return target.getvalue()
