"""What a server with the default limits would refuse for its size."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from calor.server.engine.settings import Settings
from calor.server.errors import Problem


def beyond_defaults(
    template: str, texts: Mapping[str, str], parameters: Mapping[str, Any], resources: int
) -> list[Problem]:
    """A problem for each limit; ``texts`` are all files by name, the template among them. The body is measured as a
    client sends it, but for the longer names that it gives to files."""
    body = {"template": texts.get(template, ""), "parameters": dict(parameters)}
    body["files"] = {name: text for name, text in texts.items() if name != template}
    sizes = {
        "max_template_size": (_bytes(texts.get(template, "")), "bytes of a template"),
        "max_json_body_size": (len(json.dumps(body, default=str)), "bytes of a request with all its files"),
        "max_resources_per_stack": (resources, "resources of a tree of stacks"),
    }
    return list(_exceeded(template, sizes))


def _exceeded(template: str, sizes: Mapping[str, tuple[int, str]]) -> Iterator[Problem]:
    for option, (size, what) in sizes.items():
        most = getattr(Settings, option)
        if size > most:
            message = f"A server refuses this unless its {option} is raised: {size} {what}, the default is {most}."
            yield Problem(message=message, file=template, code="limit")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
