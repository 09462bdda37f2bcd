"""The agent as a Debian package: the two guest trees, their commands, the unit and the init script.

Built by ``dpkg-deb`` from the sources beside the server; the same sources give the same bytes.
"""

import ast
import gzip
import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from calor.server.devcloud.images import package_scripts
from calor.server.devcloud.images.catalog import ImageError
from calor.server.devcloud.images.commands import run
from calor.server.devcloud.images.sources import guest_tree, license_text

NAME = "calor-agent"
EPOCH = "1577836800"  # 2020-01-01: the time stamp of every file in the package
_LIBRARY = "usr/lib/calor"
_COMMAND = """\
#!/usr/bin/python3 -IS
import sys

sys.path.insert(0, "/usr/lib/calor")
from calor.agent.__main__ import main

sys.exit(main())
"""
_CONTROL = """\
Package: calor-agent
Version: {version}
Section: admin
Priority: optional
Architecture: all
Maintainer: The Calor project <maintainers@calor.example.org>
Installed-Size: {size}
Depends: python3 (>= 3.6)
Pre-Depends: init-system-helpers (>= 1.54~)
Conflicts: heat-cfntools
Provides: heat-cfntools
Description: in-instance agent of Calor
 Collects software deployments of an OpenStack orchestration service (Calor, or
 Heat), applies them by hooks such as script, ansible and cfn-init, and reports
 what came out. Brings the cfn-* commands. Needs the Python standard library
 only.
"""

_CHANGES = """\
calor-agent ({version}) unstable; urgency=medium

  * Built from Calor's sources; see its CHANGELOG.md.

 -- The Calor project <maintainers@calor.example.org>  Wed, 01 Jan 2020 00:00:00 +0000
"""


async def build_deb(folder: Path) -> Path:
    """Write ``calor-agent_VERSION_all.deb`` into the folder. Raises `ImageError` where something is missing."""
    version = agent_version()
    target = folder / f"{NAME}_{version}_all.deb"
    folder.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - a local folder
    with tempfile.TemporaryDirectory(prefix="calor-deb-") as scratch:
        root = Path(scratch) / "root"
        _fill(root, version)
        await run(
            ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(target)],
            what=f"Package {NAME}",
            log=Path(scratch) / "dpkg-deb.log",
            environment={**os.environ, "SOURCE_DATE_EPOCH": EPOCH, "LC_ALL": "C.UTF-8"},
            package="dpkg",
        )
    return target


def agent_version() -> str:
    """What the agent calls itself, with the digest of its files: a changed agent is another package."""
    text = (guest_tree("agent") / "__init__.py").read_text()
    return f"{_constant(text, '__version__')}+{fingerprint()[:8]}"


def fingerprint() -> str:
    """Changes with the guest trees and with how they are packed."""
    digest = hashlib.sha256((_COMMAND + _CONTROL + _CHANGES + "".join(package_scripts.SCRIPTS.values())).encode())
    for name, file in (*_files(), *_starters()):
        digest.update(name.encode() + file.read_bytes())
    return digest.hexdigest()


def commands() -> Sequence[str]:
    """The agent's own command and the tools that its program is by other names, as its own table has them."""
    tools = _constant((guest_tree("agent") / "cfn_tools.py").read_text(), "TOOLS")
    if not isinstance(tools, dict):
        raise ImageError("The agent's table of tools cannot be read: this installation is damaged.")
    return ["calor-agent", *tools]


def _constant(text: str, name: str) -> object:
    """Guest code is read, never imported."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and any(
            isinstance(each, ast.Name) and each.id == name for each in node.targets
        ):
            found: object = ast.literal_eval(node.value)
            return found
    raise ImageError(f"The agent's source has no {name}: this installation is damaged.")


def _files() -> Iterator[tuple[str, Path]]:
    for part in ("agent", "cfntools"):
        tree = guest_tree(part)
        for file in sorted(tree.rglob("*")):
            if file.is_file() and file.suffix not in (".pyc", ".init", ".openrc", ".service"):
                yield f"calor/{part}/{file.relative_to(tree)}", file


def _starters() -> Iterator[tuple[str, Path]]:
    data = guest_tree("agent") / "data"
    yield "lib/systemd/system/calor-agent.service", data / "calor-agent.service"
    yield "etc/init.d/calor-agent", data / "calor-agent.init"


def _fill(root: Path, version: str) -> None:
    for name, file in _files():
        _put(root / _LIBRARY / name, file.read_text())
    for command in commands():
        _put(root / "usr/bin" / command, _COMMAND, 0o755)
    for name, file in _starters():
        _put(root / name, file.read_text(), 0o755 if file.suffix == ".init" else 0o644)
    _put(root / "usr/share/doc/calor-agent/copyright", license_text())
    changes = _CHANGES.format(version=version).encode()
    (root / "usr/share/doc/calor-agent/changelog.gz").write_bytes(gzip.compress(changes, 9, mtime=0))
    (root / "etc/calor").mkdir(parents=True)
    size = sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) // 1024
    _put(root / "DEBIAN/control", _CONTROL.format(version=version, size=size))
    _put(root / "DEBIAN/conffiles", "/etc/init.d/calor-agent\n")
    for script, text in package_scripts.SCRIPTS.items():
        _put(root / "DEBIAN" / script, text, 0o755)
    _put(root / "DEBIAN/md5sums", _sums(root))
    for path in (root, *root.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)


def _put(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _sums(root: Path) -> str:
    files = sorted(file for file in root.rglob("*") if file.is_file() and "DEBIAN" not in file.parts)
    shown = ((hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest(), file) for file in files)
    return "".join(
        f"{digest}  {file.relative_to(root)}\n" for digest, file in shown if file.parts[-3:-1] != ("etc", "init.d")
    )
