"""Containers of a machine, by docker or by podman, whose commands are the same for what the hooks need."""

import json
import shlex
from typing import Any, Dict, List, NamedTuple

from calor.agent.hooks import contract, working

PACKAGES = "package docker.io (Debian, Ubuntu), docker-ce or podman"


class Container(NamedTuple):
    """One container, running or not."""

    id: str
    name: str
    labels: Dict[str, str]


class Engine:
    """The container tool of this machine: ``$HEAT_DOCKER_CMD``, else docker, else podman. Raises CannotRun."""

    def __init__(self, job: contract.Job) -> None:
        self._job = job
        environment = contract.base_environment(job.environment)
        named = shlex.split(job.environment.get("HEAT_DOCKER_CMD") or "")
        names = named[:1] or ["docker", "podman"]
        self._command = [contract.find_tool(environment, names, PACKAGES), *named[1:]]

    def run(self, *arguments: str) -> int:
        """A command whose output is the hook's; its exit code."""
        return working.call(self._job, [*self._command, *arguments])

    def find(self, **labels: str) -> List[Container]:
        """The containers that have all these labels, newest first."""
        filters = [word for key, value in labels.items() for word in ("--filter", "label={}={}".format(key, value))]
        code, text = working.ask(self._job, [*self._command, "ps", "-a", "-q", "--no-trunc", *filters])
        if code != 0:
            self.run("ps", "-q")  # once more, to show what it says
            raise contract.CannotRun("{} cannot list containers (exit code {})".format(self._command[0], code), code)
        return [found for found in map(self.inspect, text.split()) if found.id]

    def inspect(self, name: str) -> Container:
        """The container of this name or id; one without an id if there is none."""
        code, text = working.ask(self._job, [*self._command, "container", "inspect", name])
        try:
            found: Any = json.loads(text)[0] if code == 0 else {}
        except (ValueError, IndexError):
            found = {}
        labels = (found.get("Config") or {}).get("Labels") or {}
        return Container(str(found.get("Id") or ""), str(found.get("Name") or "").lstrip("/"), dict(labels))

    def lines(self, *arguments: str) -> List[str]:
        """What a command prints, line by line; nothing if it fails."""
        code, text = working.ask(self._job, [*self._command, *arguments])
        return [line.strip() for line in text.splitlines() if line.strip()] if code == 0 else []
