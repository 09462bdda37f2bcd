"""Group ``docker-cmd``: the config maps names of containers to their settings; each is run, or a command in it."""

import sys
import uuid
from typing import Any, Dict, List

from calor.agent import steps
from calor.agent.hooks import contract, working, yaml_text
from calor.agent.hooks.containers import Engine

MANAGED = "docker-cmd"
RUN_FLAGS = (("net", "--net"), ("pid", "--pid"), ("restart", "--restart"), ("user", "--user"))


class DockerCmd(working.Working):
    """Heat's docker-cmd hook, with its labels. Containers of an earlier config or attempt of the same deployment go
    first, as those of a deployment do that is deleted or that the server no longer names."""

    group = "docker-cmd"
    leaves_something = True

    def check(self, job: contract.Job) -> None:
        Engine(job)
        if job.deployment.action != "DELETE":
            _containers(job)

    def work(self, job: contract.Job) -> int:
        engine = Engine(job)
        self.withdraw(job, False)
        if job.deployment.action == "DELETE":
            return 0
        failed = 0
        wanted = sorted(_containers(job).items(), key=lambda item: _number(item[1].get("start_order")))
        for number, (name, settings) in enumerate(wanted, 1):
            steps.note(job.directory, "container {} ({} of {})".format(name, number, len(wanted)))
            arguments = _exec(engine, job, settings) if _is_exec(name, settings) else _run(engine, job, name, settings)
            code = engine.run(*arguments)
            if str(code) not in _exit_codes(settings):
                sys.stderr.write("container {}: exit code {}\n".format(name, code))
                failed = code or 1
        return failed

    def withdraw(self, job: contract.Job, is_replaced: bool) -> None:
        if is_replaced:
            return
        engine = Engine(job)
        for container in engine.find(**_labels(job)):
            if engine.run("rm", "-f", container.id) != 0:
                raise contract.CannotRun("container {} cannot be removed".format(container.name), 1)
        _rename(engine)


def _containers(job: contract.Job) -> Dict[str, Dict[str, Any]]:
    config = job.config
    if isinstance(config, str):
        config = yaml_text.read(config, contract.base_environment(job.environment))
    if not isinstance(config, dict) or not all(isinstance(one, dict) for one in config.values()):
        raise contract.CannotRun("docker-cmd hook: the config must map names of containers to their settings", 1)
    return {str(name): settings for name, settings in config.items()}


def _labels(job: contract.Job) -> Dict[str, str]:
    inputs = job.deployment.inputs
    return {
        "managed_by": MANAGED,
        "deploy_stack_id": str(inputs.get("deploy_stack_id")),
        "deploy_resource_name": str(inputs.get("deploy_resource_name")),
    }


def _rename(engine: Engine) -> None:
    """Give containers that had to take another name the one they should have, where it has become free."""
    for container in engine.find(managed_by=MANAGED):
        wanted = container.labels.get("container_name", container.name)
        if wanted != container.name and not engine.inspect(wanted).id:
            engine.run("rename", container.name, wanted)


def _is_exec(name: str, settings: Dict[str, Any]) -> bool:
    action = settings.get("action", "run")
    if action not in ("run", "exec"):
        raise contract.CannotRun(
            "docker-cmd hook: container {}: action {!r} is not run or exec".format(name, action), 1
        )
    return bool(action == "exec")


def _run(engine: Engine, job: contract.Job, name: str, settings: Dict[str, Any]) -> List[str]:
    free = name
    while engine.inspect(free).id:
        free = "{}-{}".format(name, uuid.uuid4().hex[:8])
    labels = dict(_labels(job), config_id=job.deployment.id, container_name=name)
    found = ["run", "--name", free]
    found += [word for key, value in labels.items() for word in ("--label", "{}={}".format(key, value))]
    if contract.is_true(settings.get("detach", True)):
        found.append("--detach=true")
    for key, flag in (("env_file", "--env-file"), ("environment", "--env")):
        found += ["{}={}".format(flag, value) for value in _texts(settings.get(key))]
    found += ["{}={}".format(flag, settings[key]) for key, flag in RUN_FLAGS if key in settings]
    found += _privileged(settings)
    for key, flag in (("volumes", "--volume"), ("volumes_from", "--volumes-from")):
        found += ["{}={}".format(flag, value) for value in _texts(settings.get(key))]
    return [*found, str(settings.get("image") or ""), *_command(settings)]


def _exec(engine: Engine, job: contract.Job, settings: Dict[str, Any]) -> List[str]:
    """The first word of the command is the container, as the config names it."""
    command = _command(settings)
    if not command:
        raise contract.CannotRun("docker-cmd hook: action exec needs a command that begins with a container's name", 1)
    named = engine.find(container_name=command[0], config_id=job.deployment.id)
    found = ["exec", *_privileged(settings)]
    if "user" in settings:
        found.append("--user={}".format(settings["user"]))
    return [*found, named[0].name if named else command[0], *command[1:]]


def _privileged(settings: Dict[str, Any]) -> List[str]:
    return ["--privileged={}".format(str(settings["privileged"]).lower())] if "privileged" in settings else []


def _command(settings: Dict[str, Any]) -> List[str]:
    command = settings.get("command")
    return [str(word) for word in command] if isinstance(command, list) else str(command or "").split()


def _exit_codes(settings: Dict[str, Any]) -> List[str]:
    """Those that are no failure: a list, or one; numbers, or texts."""
    given = settings.get("exit_codes")
    codes = given if isinstance(given, list) else [given]
    return [str(code) for code in codes if code is not None] or ["0"]


def _texts(value: Any) -> List[str]:
    if isinstance(value, dict):
        value = ["{}={}".format(key, one) for key, one in value.items()]
    return [str(one) for one in (value if isinstance(value, list) else [value]) if one]


def _number(value: Any) -> float:
    try:
        return float(value or 0)
    except (TypeError, ValueError):
        raise contract.CannotRun("docker-cmd hook: start_order {!r} is no number".format(value), 1) from None
