"""Group ``ansible``: the config is a playbook or a bundle; inputs are variables, declared outputs are files that the
playbook writes, or what it says by set_stats."""

import glob
import json
import os
import pkgutil
from typing import Any, Dict, List, Optional, Tuple

from calor.agent import outputs
from calor.agent.hooks import ansible_options, ansible_output, ansible_project, ansible_runner, contract
from calor.cfntools import durable

FAILURES = "ansible-failures"
STATS = "ansible-stats"
SECRETS = (ansible_options.VAULT_INPUT, ansible_options.VAULTS_INPUT)


class Ansible(contract.Hook):
    """Heat's ansible hook, by ansible-runner where an interpreter has it, else by ansible-playbook.

    Options as in Heat (tags, skip_tags, inventory, modulepath, callback_plugins), those of ``ansible_options``, and
    ``requirements``. The inputs ``ansible_vault_password`` and ``ansible_vault_passwords`` are secrets: they go by
    private files, never in arguments or variables.
    """

    group = "ansible"

    def _outputs(self, job: contract.Job) -> contract.OutputFiles:
        return contract.OutputFiles(job, "HEAT_ANSIBLE_OUTPUTS", "/var/run/heat-config/heat-config-ansible")

    def prepare(self, job: contract.Job) -> Optional[contract.Command]:
        given = ansible_project.read(job.config, job.deployment.options)
        if given.is_empty:
            return None
        environment = _environment(job)
        named = job.environment.get("HEAT_ANSIBLE_CMD", "ansible-playbook")
        program = contract.find_tool(environment, [named], "package ansible-core or ansible")
        working = _working(job)
        os.makedirs(working, mode=0o700, exist_ok=True)
        root, playbooks = _lay_out(job, given, working)
        files = self._outputs(job)
        files.clear()

        def write(kind: str, text: str) -> str:
            return _write(job, kind, text)

        hosts = ansible_options.inventory(job, working, root, write)
        variables = write("variables.json", json.dumps(_variables(job, files)))
        arguments = ansible_options.arguments(job, hosts, variables)
        arguments += ansible_options.Secrets.of(job.deployment.inputs).arguments(write)
        before, more = ansible_project.galaxy(job, program, root, working)
        environment.update(more)
        command = _command(
            job, program, ansible_runner.Spec(playbooks, hosts, arguments, root, job.directory), environment
        )
        return contract.Command(command, environment, root, None, tuple(before))

    def finish(self, job: contract.Job, code: int) -> contract.Finished:
        for path in glob.glob(glob.escape(_path(job, "vault")) + "*"):
            os.unlink(path)
        done = contract.with_declared(job, code, self._outputs(job), durable.read_map(_told(job, STATS)))
        for name in ("deploy_stdout", "deploy_stderr"):
            done.outputs[name] = outputs.plain(done.outputs[name])
        tasks: List[str] = []
        if code != 0:
            tasks = _failed_tasks(_told(job, FAILURES)) or _printed(str(done.outputs["deploy_stdout"]))
        return done._replace(reason="; ".join(tasks)) if tasks else done


def _command(job: contract.Job, program: str, spec: ansible_runner.Spec, environment: Dict[str, str]) -> List[str]:
    """By ansible-runner, whose events our driver reads, or by ansible-playbook with a callback plug-in of ours."""
    if "HEAT_ANSIBLE_CMD" not in job.environment:
        interpreter = ansible_runner.find_interpreter(program, environment)
        if interpreter is not None:
            return ansible_runner.prepare(interpreter, spec, job.directory)
    plugins = os.path.join(job.directory, "callbacks")
    os.makedirs(plugins, mode=0o700, exist_ok=True)
    ours = pkgutil.get_data("calor.agent", "data/ansible_events.txt") or b""
    contract.write_private(os.path.join(plugins, "calor_events.py"), ours)
    theirs = environment.get("ANSIBLE_CALLBACK_PLUGINS")
    environment["ANSIBLE_CALLBACK_PLUGINS"] = ":".join(part for part in (theirs, plugins) if part)
    environment["CALOR_ANSIBLE_TOLD"] = job.directory
    return [program, "-i", spec.inventory, *spec.arguments, *spec.playbooks]


def _environment(job: contract.Job) -> Dict[str, str]:
    environment = contract.base_environment(job.environment)
    own = contract.as_text(job.deployment.options.get("callback_plugins"))
    paths = [part for part in (own, environment.get("ANSIBLE_CALLBACK_PLUGINS")) if part]
    if paths:
        environment["ANSIBLE_CALLBACK_PLUGINS"] = ":".join(paths)
    environment.setdefault("ANSIBLE_LOCAL_TEMP", os.path.join(_working(job), "tmp"))
    environment.setdefault("PYTHONUNBUFFERED", "1")
    environment["ANSIBLE_NOCOLOR"] = "1"
    environment.pop("ANSIBLE_FORCE_COLOR", None)
    return environment


def _lay_out(job: contract.Job, given: ansible_project.Given, working: str) -> Tuple[str, List[str]]:
    """The directory to run in, and the playbooks to run."""
    if not given.has_folder:
        return working, [_write(job, "playbook.yaml", given.text)]
    folder = _path(job, "bundle")
    ansible_project.lay_out(given, folder, job.directory)
    root = ansible_project.root_of(folder)
    if given.text.strip():
        path = os.path.join(root, "{}_playbook.yaml".format(job.deployment.id))
        contract.write_private(path, given.text.encode("utf-8", "surrogateescape"))
        return root, [path]
    return root, ansible_project.playbooks(given, root)


def _working(job: contract.Job) -> str:
    return job.places.heat(job.environment, "HEAT_ANSIBLE_WORKING", "/var/lib/heat-config/heat-config-ansible")


def _path(job: contract.Job, what: str) -> str:
    return os.path.join(_working(job), "{}_{}".format(job.deployment.id, what))


def _told(job: contract.Job, what: str) -> str:
    return os.path.join(job.directory, what)


def _write(job: contract.Job, what: str, text: str) -> str:
    path = _path(job, what)
    contract.write_private(path, text.encode("utf-8", "surrogateescape"))
    return path


def _variables(job: contract.Job, files: contract.OutputFiles) -> Dict[str, Any]:
    found = {name: value for name, value in job.deployment.inputs.items() if name not in SECRETS}
    found.update(heat_config_id=job.deployment.id, heat_outputs_path=files.prefix)
    return found


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
        found.append(_sentence(event.get("task"), event.get("host"), event.get("msg")))
    return found[-3:]


def _printed(text: str) -> List[str]:
    """The same, of an Ansible that did not load our plug-in."""
    return [_sentence(*failure) for failure in ansible_output.failures(text)[-3:]]


def _sentence(task: Any, host: Any, message: Any) -> str:
    return outputs.plain("task {} on {}: {}".format(task, host, message))[:1000]
