"""Group ``ansible``: the config is a playbook; inputs are variables, declared outputs are files it writes."""

import json
import os
import pkgutil
import shutil
from typing import Any, Dict, List, Optional

from calor.agent import outputs
from calor.agent.hooks import ansible_runner, contract

VAULT_INPUT = "ansible_vault_password"
FAILURES = "ansible-failures"
DEFAULT_INVENTORY = "localhost,"


class Ansible(contract.Hook):
    """Heat's ansible hook, by ansible-runner where an interpreter has it, else by ansible-playbook.

    Options as in Heat (tags, skip_tags, inventory, modulepath, callback_plugins), and limit, become, check, diff,
    verbosity. The input ``ansible_vault_password`` is a secret: it goes by a private file, never in arguments or
    variables.
    """

    group = "ansible"

    def _outputs(self, job: contract.Job) -> contract.OutputFiles:
        return contract.OutputFiles(job, "HEAT_ANSIBLE_OUTPUTS", "/var/run/heat-config/heat-config-ansible")

    def prepare(self, job: contract.Job) -> Optional[contract.Command]:
        text = contract.as_text(job.config)
        if not text.strip():
            return None
        environment = self._environment(job)
        named = job.environment.get("HEAT_ANSIBLE_CMD", "ansible-playbook")
        program = shutil.which(named, path=environment["PATH"])
        if program is None:
            raise contract.CannotRun("{} not found".format(named))
        files = self._outputs(job)
        files.clear()
        working = _working(job)
        os.makedirs(working, mode=0o700, exist_ok=True)
        playbook = _write(job, "playbook.yaml", text)
        inventory = self._inventory(job)
        arguments = _arguments(job, inventory, _write(job, "variables.json", json.dumps(_variables(job, files))))
        command = [program, "-i", inventory, *arguments, playbook]
        if "HEAT_ANSIBLE_CMD" not in job.environment:
            interpreter = ansible_runner.find_interpreter(program, environment)
            if interpreter is not None:
                spec = ansible_runner.Spec(playbook, inventory, arguments, os.path.join(job.directory, FAILURES))
                command = ansible_runner.prepare(interpreter, spec, job.directory)
        return contract.Command(command, environment, working)

    def _environment(self, job: contract.Job) -> Dict[str, str]:
        environment = contract.base_environment(job.environment)
        plugins = os.path.join(job.directory, "callbacks")
        os.makedirs(plugins, mode=0o700, exist_ok=True)
        contract.write_private(
            os.path.join(plugins, "calor_events.py"), pkgutil.get_data("calor.agent", "data/ansible_events.txt") or b""
        )
        own = contract.as_text(job.deployment.options.get("callback_plugins"))
        paths = [part for part in (own, environment.get("ANSIBLE_CALLBACK_PLUGINS"), plugins) if part]
        environment["ANSIBLE_CALLBACK_PLUGINS"] = ":".join(paths)
        environment["CALOR_ANSIBLE_FAILURES"] = os.path.join(job.directory, FAILURES)
        environment.setdefault("ANSIBLE_LOCAL_TEMP", os.path.join(_working(job), "tmp"))
        environment.setdefault("PYTHONUNBUFFERED", "1")
        environment["ANSIBLE_NOCOLOR"] = "1"
        environment.pop("ANSIBLE_FORCE_COLOR", None)
        return environment

    @staticmethod
    def _inventory(job: contract.Job) -> str:
        text = contract.as_text(job.deployment.options.get("inventory"))
        if text.strip():
            return _write(job, "inventory", text)
        return job.environment.get("HEAT_ANSIBLE_INVENTORY", DEFAULT_INVENTORY)

    def finish(self, job: contract.Job, code: int) -> contract.Finished:
        vault = _path(job, "vault")
        if os.path.exists(vault):
            os.unlink(vault)
        done = contract.with_declared(job, code, self._outputs(job))
        for name in ("deploy_stdout", "deploy_stderr"):
            done.outputs[name] = outputs.plain(done.outputs[name])
        tasks = _failed_tasks(os.path.join(job.directory, FAILURES)) if code != 0 else []
        return done._replace(reason="; ".join(tasks)) if tasks else done


def _working(job: contract.Job) -> str:
    return job.places.heat(job.environment, "HEAT_ANSIBLE_WORKING", "/var/lib/heat-config/heat-config-ansible")


def _path(job: contract.Job, what: str) -> str:
    return os.path.join(_working(job), "{}_{}".format(job.deployment.id, what))


def _write(job: contract.Job, what: str, text: str) -> str:
    path = _path(job, what)
    contract.write_private(path, text.encode("utf-8", "surrogateescape"))
    return path


def _variables(job: contract.Job, files: contract.OutputFiles) -> Dict[str, Any]:
    found = {name: value for name, value in job.deployment.inputs.items() if name != VAULT_INPUT}
    found.update(heat_config_id=job.deployment.id, heat_outputs_path=files.prefix)
    return found


def _arguments(job: contract.Job, inventory: str, variables: str) -> List[str]:
    options = job.deployment.options
    arguments = ["--extra-vars", "@" + variables]
    if inventory == DEFAULT_INVENTORY:
        arguments += ["--connection", "local"]  # a play's own `connection` still wins; ssh to oneself never works
    for option, flag in (
        ("tags", "--tags"),
        ("skip_tags", "--skip-tags"),
        ("modulepath", "--module-path"),
        ("limit", "--limit"),
    ):
        value = options.get(option)
        if value:
            arguments += [flag, ",".join(map(str, value)) if isinstance(value, list) else str(value)]
    arguments += ["--" + option for option in ("become", "check", "diff") if _is_true(options.get(option))]
    verbosity = int(options.get("verbosity") or 0)
    if verbosity > 0:
        arguments.append("-" + "v" * min(verbosity, 5))
    if job.deployment.inputs.get(VAULT_INPUT):
        arguments += ["--vault-password-file", _write(job, "vault", str(job.deployment.inputs[VAULT_INPUT]))]
    return arguments


def _is_true(value: Any) -> bool:
    return str(value).lower() in ("true", "yes", "1", "on")


def _failed_tasks(path: str) -> List[str]:
    """'task NAME on HOST: message' of the tasks that failed, at most three (F076)."""
    if not os.path.exists(path):
        return []
    with open(path, "rb") as source:
        lines = source.read(1024 * 1024).splitlines()
    found = []
    for line in lines:
        try:
            event = json.loads(line.decode("utf-8"))
        except ValueError:
            continue
        text = "task {} on {}: {}".format(event.get("task"), event.get("host"), event.get("msg"))
        found.append(outputs.plain(text)[:1000])
    return found[-3:]
