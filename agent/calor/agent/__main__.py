"""``calor-agent run|once|status|logs|version``; started as ``cfn-init``, ``cfn-signal`` or ``cfn-get-metadata`` (by
name, or as first argument) it is that tool."""

import importlib
import os
import sys
from typing import List, Optional

TOOLS = {
    "cfn-init": "calor.cfntools.init",
    "cfn-signal": "calor.cfntools.signal",
    "cfn-get-metadata": "calor.cfntools.get_metadata",
}


def main(arguments: Optional[List[str]] = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    name = os.path.basename(sys.argv[0])
    if name not in TOOLS and words and words[0] in TOOLS:
        name, words = words[0], words[1:]
    if name in TOOLS:
        return int(importlib.import_module(TOOLS[name]).main(words))
    if words and words[0] == "supervise":
        from calor.agent import supervisor  # a hook's start must not pay for the whole agent

        return supervisor.main(words[1], words[2], os.environ)
    from calor.agent import cli

    return cli.main(words)


if __name__ == "__main__":
    sys.exit(main())
