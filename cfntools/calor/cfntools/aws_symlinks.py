"""``cfn-create-aws-symlinks``: the tools where AWS's images have them, ``/opt/aws/bin``."""

import os
import sys
from typing import List, Optional

from calor.cfntools import options
from calor.cfntools.narration import Narrator

PREFIX = "cfn-"
SOURCES = ("/usr/bin", "/usr/local/bin")


def main(arguments: Optional[List[str]] = None) -> int:
    parser = options.parser("cfn-create-aws-symlinks", "Link each cfn-* of a directory into another.")
    parser.add_argument("-t", "--target", default="/opt/aws/bin", help="where the links are made (/opt/aws/bin)")
    parser.add_argument(
        "-s", "--source", help="where the tools are ({}: the first that has any)".format(", ".join(SOURCES))
    )
    parser.add_argument("-f", "--force", action="store_true", help="replace what is there")
    given = parser.parse_args(arguments)
    narrator = Narrator("cfn-create-aws-symlinks", options.root())
    source, target = os.path.abspath(given.source or _place()), os.path.abspath(given.target)
    if os.path.realpath(source) == os.path.realpath(target):
        return narrator.fail("source and target are the same directory {}".format(source))
    try:
        os.makedirs(target, exist_ok=True)
        names = _tools(source)
        if not names:
            narrator.warn("{} holds no {}*: nothing is linked".format(source, PREFIX))
        for name in names:
            _link(os.path.join(source, name), os.path.join(target, name), given.force, narrator)
    except OSError as exc:
        return narrator.fail("{}: {}".format(exc.filename or target, exc.strerror))
    return 0


def _place() -> str:
    """A package puts the tools into the first, bake-agent.yml into the second."""
    return next((one for one in SOURCES if os.path.isdir(one) and _tools(one)), SOURCES[0])


def _tools(directory: str) -> List[str]:
    return sorted(name for name in os.listdir(directory) if name.startswith(PREFIX))


def _link(source: str, link: str, force: bool, narrator: Narrator) -> None:
    if os.path.lexists(link):
        if os.path.islink(link) and os.readlink(link) == source:
            return
        if not force:
            narrator.warn("{} exists and stays as it is (--force replaces it)".format(link))
            return
        os.unlink(link)
    os.symlink(source, link)
    narrator.say("{} -> {}".format(link, source))


if __name__ == "__main__":
    sys.exit(main())
