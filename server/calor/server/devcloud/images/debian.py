"""Image ``debian-12``: a whole Debian from its packages (mmdebstrap) with the agent baked in."""

from collections.abc import Callable
from pathlib import Path

from calor.server.devcloud.images.catalog import Image

NAME = "debian-12"


async def build_debian(cache: Path, progress: Callable[[str], None]) -> Image:
    """Make the image anew (minutes). Needs root and mmdebstrap; bakes the agent with playbooks/bake-agent.yml."""
    raise NotImplementedError
