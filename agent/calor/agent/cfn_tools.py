"""The CloudFormation tools, started by this program, and how they ask the server as this instance."""

import importlib
import json
import os
import sys
from typing import Any, Dict, List, Optional

from calor.cfntools import cloudformation, httpclient, retrying

TOOLS = {
    "cfn-init": "calor.cfntools.init",
    "cfn-signal": "calor.cfntools.signal",
    "cfn-hup": "calor.cfntools.hup",
    "cfn-get-metadata": "calor.cfntools.get_metadata",
    "cfn-create-aws-symlinks": "calor.cfntools.aws_symlinks",
}
WITHOUT_SERVER = "cfn-create-aws-symlinks"


def run(name: str, words: List[str]) -> int:
    """Be that tool; its exit code."""
    if name not in TOOLS:
        sys.stderr.write("{} is none of the tools: {}\n".format(name, ", ".join(sorted(TOOLS))))
        return 2
    tool: Any = importlib.import_module(TOOLS[name])
    return int(tool.main(words) if name == WITHOUT_SERVER else tool.main(words, as_this_instance))


def as_this_instance(root: str) -> Optional[cloudformation.Ask]:
    """With the identity that the agent has, enrolled now if the agent has not come to it yet. None where there is
    none, or none that this user may use."""
    from calor.agent import places, settings  # what has a key pair of its own pays for none of this
    from calor.agent.identity import Identity
    from calor.agent.native import Link

    where = places.find(os.environ, root)
    try:
        found = settings.load(where.config, os.environ)
        link = Link(found, Identity(found, where.state)) if found.is_native else None
    except PermissionError:
        return None
    if link is None:
        return None
    known = link

    def ask(action: Dict[str, str]) -> bytes:
        return _checked(known, action)

    return ask


def _checked(link: Any, action: Dict[str, str]) -> bytes:
    from calor.agent.identity import NotEnrolled, Refused

    try:
        answer = retrying.check(link.call("POST", "cfn", action, 30.0))
    except Refused as exc:
        if exc.is_final:
            raise cloudformation.ApiRefused(exc.status, str(exc)) from exc
        raise httpclient.TransportError(str(exc)) from exc
    except NotEnrolled as exc:
        raise cloudformation.ApiRefused(403, str(exc)) from exc
    if not answer.ok:
        raise cloudformation.ApiRefused(answer.status, _message(answer))
    return answer.body


def _message(answer: httpclient.Answer) -> str:
    try:
        return str(json.loads(answer.text())["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return answer.text()[:300]
