"""``calor-agent run|once|status|logs|version``; started as ``cfn-init`` or another of the CloudFormation tools (by
name, or as first argument) it is that tool."""

import os
import sys
from typing import List, Optional

TOOLS = "cfn-"


def main(arguments: Optional[List[str]] = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    name = os.path.basename(sys.argv[0])
    if not name.startswith(TOOLS) and words and words[0].startswith(TOOLS):
        name, words = words[0], words[1:]
    if name.startswith(TOOLS):
        from calor.agent import cfn_tools  # a hook's start must not pay for the tools, nor they for the agent

        return cfn_tools.run(name, words)
    if words and words[0] == "supervise":
        from calor.agent import supervisor  # a hook's start must not pay for the whole agent

        return supervisor.main(words[1], words[2], os.environ)
    if words and words[0] in ("apply", "withdraw"):
        from calor.agent import hooks
        from calor.agent.hooks import working

        return working.main(hooks.built_in(words[1]), words, os.environ)
    from calor.agent import cli

    return cli.main(words)


if __name__ == "__main__":
    sys.exit(main())
