"""Images of a dev cloud of a test's own: image ``host`` under other names, with layers of the test's above it."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from calor.server.devcloud.images import Image, cache_dir
from calor.server.devcloud.images.host import ensure_host


def fill(home: Path, layers: Mapping[str, Mapping[str, Path]]) -> None:
    """Make ``home`` a ``$XDG_CACHE_HOME`` that holds image ``host`` and, for each name, that image with a further layer
    on ``/``, ``/usr`` or neither. No other dev cloud sees these."""
    host = asyncio.run(ensure_host(cache_dir(), print))
    images = home / "calor/images"
    images.mkdir(parents=True)
    (images / host.path.name).symlink_to(host.path)
    for number, (name, above) in enumerate(layers.items()):
        path = images / f"image-{number}"
        path.mkdir()
        lowers = {at: [*([above[at]] if at in above else []), *below] for at, below in host.layers.items()}
        image: Image = replace(host, name=name, path=path, layers=lowers)
        image.save()
