"""What an image is on disk: a folder with ``image.json`` beside the trees it is made of."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

DESCRIPTION = "image.json"


class ImageError(Exception):
    """An image could not be made or read. The text is shown to users and says what to do."""


@dataclass(frozen=True, kw_only=True)
class Image:
    """``layers``: for each overlay's mount point in the server (``/``, ``/usr``), its lower folders, topmost first.
    Of an image for VMs there are none: ``disk`` is its file in ``path``, ``disk_format`` what that is (qcow2, raw)."""

    name: str
    path: Path
    layers: Mapping[str, Sequence[Path]]
    properties: Mapping[str, str] = field(default_factory=dict)
    disk: str | None = None
    disk_format: str | None = None

    def save(self) -> None:
        """Write ``image.json`` last and at once: a folder without it is an unfinished build."""
        text = json.dumps(
            {
                "name": self.name,
                "layers": {target: [str(lower) for lower in lowers] for target, lowers in self.layers.items()},
                "properties": dict(self.properties),
                "disk": self.disk,
                "disk_format": self.disk_format,
            },
            indent=1,
        )
        partial = self.path / (DESCRIPTION + ".partial")
        partial.write_text(text)
        partial.replace(self.path / DESCRIPTION)


def cache_dir() -> Path:
    """Where images are kept for all dev clouds of this user: ``$XDG_CACHE_HOME/calor/images``."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "calor" / "images"


def load(path: Path) -> Image:
    """The image in a folder. Raises `ImageError` where there is none."""
    try:
        raw = json.loads((path / DESCRIPTION).read_text())
    except (OSError, ValueError) as exc:
        raise ImageError(
            f"{path} is no image that a sandbox can boot from. Images `host` and `debian-12` are: `calor image build`."
        ) from exc
    return Image(
        name=raw["name"],
        path=path,
        layers={target: [Path(lower) for lower in lowers] for target, lowers in raw["layers"].items()},
        properties=raw["properties"],
        disk=raw.get("disk"),
        disk_format=raw.get("disk_format"),
    )


def built(cache: Path) -> list[Image]:
    """All finished images in the cache, the newest last."""
    descriptions = sorted(cache.glob(f"*/{DESCRIPTION}"), key=lambda each: each.stat().st_mtime)
    return [load(each.parent) for each in descriptions]


def find(cache: Path, name: str) -> Image | None:
    """The newest finished image of that name."""
    return next((each for each in reversed(built(cache)) if each.name == name), None)
