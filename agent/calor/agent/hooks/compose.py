"""Group ``docker-compose``: the config is a compose file; the project is named like the deployment."""

import json
import os
import shlex
from typing import Any, Dict, List, NamedTuple, Optional

from calor.agent import steps
from calor.agent.hooks import compose_format, contract, working, yaml_text
from calor.cfntools import durable

PACKAGES = "package docker-compose, docker-compose-plugin or podman-compose"


class Tool(NamedTuple):
    """A command that reads compose files; ``is_first`` for docker-compose 1, which reads the oldest format too."""

    command: List[str]
    is_first: bool


class DockerCompose(working.Working):
    """Heat's docker-compose hook: ``up -d --no-build`` in WORKING/NAME; ``down`` when the deployment is deleted or the
    server no longer names it."""

    group = "docker-compose"
    leaves_something = True

    def check(self, job: contract.Job) -> None:
        tool = _tool(job)
        if job.deployment.action != "DELETE":
            _text(job, tool)
            _env_files(job)

    def work(self, job: contract.Job) -> int:
        if job.deployment.action == "DELETE":
            self.withdraw(job, False)
            return 0
        tool, project = _tool(job), _project(job)
        os.makedirs(project, mode=0o700, exist_ok=True)
        durable.write(os.path.join(project, "docker-compose.yml"), _text(job, tool).encode("utf-8", "surrogateescape"))
        for name, content in _env_files(job).items():
            path = os.path.normpath(os.path.join(project, name))
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            durable.write(path, content.encode("utf-8", "surrogateescape"))
        steps.note(job.directory, "{} up".format(os.path.basename(tool.command[0])))
        return working.call(job, [*tool.command, "up", "-d", "--no-build"], project)

    def withdraw(self, job: contract.Job, is_replaced: bool) -> None:
        path = os.path.join(_project(job), "docker-compose.yml")
        if is_replaced or not os.path.exists(path):
            return
        code = working.call(job, [*_tool(job).command, "down"], _project(job))
        if code != 0:
            raise contract.CannotRun("the project {} cannot be stopped (exit code {})".format(_project(job), code), 1)
        os.unlink(path)


def _project(job: contract.Job) -> str:
    folder = job.places.heat(
        job.environment, "HEAT_DOCKER_COMPOSE_WORKING", "/var/lib/heat-config/heat-config-docker-compose"
    )
    return os.path.join(folder, job.deployment.name.replace("/", "_"))


def _tool(job: contract.Job) -> Tool:
    """``$HEAT_DOCKER_COMPOSE_CMD``, else docker-compose, docker's compose plug-in, podman-compose. Raises CannotRun."""
    environment = contract.base_environment(job.environment)
    named = shlex.split(job.environment.get("HEAT_DOCKER_COMPOSE_CMD") or "")
    if named:
        command = [contract.find_tool(environment, named[:1], PACKAGES), *named[1:]]
        return Tool(command, _is_first(job, command))
    program = contract.which("docker-compose", environment)
    if program:
        return Tool([program], _is_first(job, [program]))
    docker = contract.which("docker", environment)
    if docker and working.ask(job, [docker, "compose", "version"])[0] == 0:
        return Tool([docker, "compose"], False)
    podman = contract.which("podman-compose", environment)
    if podman:
        return Tool([podman], False)
    raise contract.CannotRun("docker-compose not found; it comes with {}".format(PACKAGES))


def _is_first(job: contract.Job, command: List[str]) -> bool:
    return "version 1." in working.ask(job, [*command, "version"])[1]


def _text(job: contract.Job, tool: Tool) -> str:
    """The compose file. What docker-compose 1 reads stays as it is; for others the oldest format is brought up to date.
    Raises CannotRun."""
    config = job.config
    if isinstance(config, str) and (tool.is_first or compose_format.has_services(config)):
        return config
    if isinstance(config, str):
        config = yaml_text.read(config, contract.base_environment(job.environment))
    if not isinstance(config, dict):
        raise contract.CannotRun("docker-compose hook: the config must be a compose file", 1)
    return json.dumps(config if tool.is_first else compose_format.modern(config), indent=2, ensure_ascii=False)


def _env_files(job: contract.Job) -> Dict[str, str]:
    """Input ``env_files``: a list of {file_name, content}, or its text. Raises CannotRun."""
    given: Any = job.deployment.inputs.get("env_files")
    if isinstance(given, str) and given.strip():
        given = _literal(given)
    found = {}
    for item in given or []:
        if not isinstance(item, dict) or "file_name" not in item:
            raise contract.CannotRun("docker-compose hook: env_files must be a list of {file_name, content}", 1)
        found[str(item["file_name"])] = contract.as_text(item.get("content"))
    return found


def _literal(text: str) -> Optional[Any]:
    """JSON, or what Heat's hook reads: a literal of Python."""
    import ast  # for old templates only

    try:
        return json.loads(text)
    except ValueError:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise contract.CannotRun("docker-compose hook: the input env_files is no list", 1) from None
