"""Where the files lie that go into images: beside the server in the checkout, or in the installed package."""

from pathlib import Path

import calor.server
from calor.server.devcloud.images.catalog import ImageError

_PACKAGE = Path(calor.server.__file__).resolve().parents[1]  # …/calor


def sources_root() -> Path:
    """Where playbooks, agent and cfntools lie. Raises `ImageError`."""
    for root in (_PACKAGE, _PACKAGE.parents[1]):
        if (root / "playbooks/bake-agent.yml").exists():
            return root
    raise ImageError("The playbook that bakes the agent (playbooks/bake-agent.yml) is not part of this installation.")


def guest_tree(part: str) -> Path:
    """The folder of ``calor.agent`` or ``calor.cfntools``. Raises `ImageError`."""
    for tree in (_PACKAGE / part, _PACKAGE.parents[1] / part / "calor" / part):
        if (tree / "__init__.py").exists():
            return tree
    raise ImageError(f"The source of calor.{part} is not part of this installation.")


def license_text() -> str:
    """Debian's copyright file of a package of ours."""
    return (
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: Calor\n\n"
        "Files: *\n"
        "Copyright: 2026 The Calor project\n"
        "License: Apache-2.0\n"
        " On Debian systems, the full text of the Apache License version 2.0 can be\n"
        " found in the file /usr/share/common-licenses/Apache-2.0.\n"
    )
