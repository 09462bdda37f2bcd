"""What the cache of images holds, how large it is, and taking it out again.

An image of sandboxes stands on a Debian in ``bases``, which others of the same packages share; a disk's base is kept
for the next build.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from calor.server.devcloud.images import building
from calor.server.devcloud.images.catalog import DESCRIPTION, ImageError, built, load

BASES = "bases"
_FOLDER = re.compile(r"(?P<name>.+)-[0-9a-f]{12}(\.partial)?")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """``kind`` is sandbox, a disk's format, base, or unfinished; ``path`` what a user looks for."""

    name: str
    kind: str
    folder: Path
    path: Path
    size: int


def entries(cache: Path) -> list[Entry]:
    """All there is, the oldest first, bases last."""
    folders = sorted((each for each in _folders(cache)), key=lambda each: each.lstat().st_mtime)
    bases = sorted(each for each in _folders(cache / BASES))
    return [*map(_entry, folders), *(_entry(each, "base") for each in bases)]


async def remove(cache: Path, names: Iterable[str] | None) -> list[Entry]:
    """Take out images, all their versions, with the bases that nothing else stands on; None: everything.

    Raises `ImageError` for names that are not there, and before anything is removed where something that runs uses it.
    """
    async with building.exclusively(cache), building.exclusively(cache, "disk.lock"):
        there = entries(cache)
        wanted = {each.name for each in there} if names is None else set(names)
        if missing := wanted - {each.name for each in there}:
            raise ImageError(
                f"There is no image {', '.join(sorted(missing))} in {cache}; `calor image list` shows them."
            )
        chosen = [each for each in there if each.name in wanted]
        kept = _stood_on(cache, {each.folder for each in chosen})
        chosen = [each for each in chosen if each.folder not in kept]
        if user := next(_users(each.folder for each in chosen), None):
            raise ImageError(f"A running server is made of {user}: delete it, or `calor dev remove`, first.")
        for each in chosen:
            _delete(each.folder)
        return chosen


def _folders(folder: Path) -> Iterator[Path]:
    for each in folder.glob("*"):
        if each.is_dir() and _FOLDER.fullmatch(each.name):
            yield each


def _entry(folder: Path, kind: str = "") -> Entry:
    matched = _FOLDER.fullmatch(folder.name)
    name, path = matched.group("name") if matched else folder.name, folder
    if not kind:
        kind = "unfinished"
        if (folder / DESCRIPTION).exists():
            image = load(folder)
            kind, path = image.disk_format or "sandbox", folder / image.disk if image.disk else folder
    return Entry(name=name, kind=kind, folder=folder, path=path, size=_size(folder))


def _size(folder: Path) -> int:
    """Bytes on disk; a file with several names counts once."""
    found: dict[tuple[int, int], int] = {}
    for place, _folders_in, files in os.walk(folder):
        for path in (Path(place), *(Path(place, name) for name in files)):
            facts = os.lstat(path)
            found[facts.st_dev, facts.st_ino] = facts.st_blocks * 512
    return sum(found.values())


def _stood_on(cache: Path, leaving: set[Path]) -> set[Path]:
    """The layers of images that stay."""
    staying = [image for image in built(cache) if image.path not in leaving]
    return {lower for image in staying for lowers in image.layers.values() for lower in lowers}


def _users(folders: Iterable[Path]) -> Iterator[Path]:
    """Those of the folders that a sandbox has mounted or a process (QEMU) has open."""
    wanted = list(folders)
    seen: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        for text in _held(process):
            if text not in seen:
                seen.add(text)
                yield from (each for each in wanted if f"{each}/" in text or f"{each}:" in text or f"{each}," in text)


def _held(process: Path) -> Iterator[str]:
    try:
        yield (process / "mountinfo").read_text()
        for fd in (process / "fd").iterdir():
            yield f"{fd.readlink()}"
    except OSError:
        return  # it has ended meanwhile, or is another user's


def _delete(folder: Path) -> None:
    try:
        (folder / DESCRIPTION).unlink(missing_ok=True)  # from here on it is no image
        shutil.rmtree(folder)
    except OSError as exc:
        raise ImageError(f"{exc.filename} cannot be removed: {exc.strerror}.") from exc
