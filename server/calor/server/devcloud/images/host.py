"""Image ``host``: this machine's /usr and package state under a layer of cloud-init, Ansible and sshd."""

from collections.abc import Callable
from pathlib import Path

from calor.server.devcloud.images.catalog import Image


async def ensure_host(cache: Path, progress: Callable[[str], None]) -> Image:
    """The image for the packages that this machine has now: from the cache, or made (some 15 s). Needs root."""
    raise NotImplementedError
