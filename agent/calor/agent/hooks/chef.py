"""Group ``chef``: the config is a run list, inputs are node attributes, declared outputs are files of recipes."""

import json
import os
import shutil
import subprocess
from typing import Any, List, Optional, Tuple

from calor.agent.hooks import contract, hostname

CLIENTS = ("chef-client", "cinc-client")
CLIENT_CONFIG = """log_level :info
log_location STDOUT
local_mode true
chef_zero.enabled true
cookbook_path '{kitchen}/cookbooks'
role_path '{kitchen}/roles'
environment_path '{kitchen}/environments'
node_path '{nodes}'
"""


class Chef(contract.Hook):
    """Heat's chef hook: chef-client (or cinc-client) in local mode, with a kitchen that is there or cloned by git."""

    group = "chef"

    def _outputs(self, job: contract.Job) -> contract.OutputFiles:
        return contract.OutputFiles(job, "HEAT_CHEF_OUTPUTS", "/var/run/heat-config/heat-config-chef")

    def prepare(self, job: contract.Job) -> Optional[contract.Command]:
        run_list = _run_list(job)
        if run_list is None:
            return None
        environment = contract.base_environment(job.environment)
        program = contract.find_tool(environment, CLIENTS, "package chef or cinc")
        working = job.places.heat(job.environment, "HEAT_CHEF_WORKING", "/var/lib/heat-config/heat-config-chef")
        nodes = os.path.join(working, "node")
        os.makedirs(nodes, mode=0o700, exist_ok=True)
        files = self._outputs(job)
        files.clear()
        environment["heat_outputs_path"] = files.prefix
        kitchen = str(job.deployment.options.get("kitchen_path") or os.path.join(working, "kitchen"))
        inputs = job.deployment.inputs
        attributes = {name: value for name, value in inputs.items() if not name.startswith("deploy_")}
        client = CLIENT_CONFIG.format(kitchen=_quoted(kitchen), nodes=_quoted(nodes))
        if "environment" in attributes:
            client += "environment '{}'\n".format(_quoted(contract.as_text(attributes.pop("environment"))))
        config, node = (
            os.path.join(working, "client.rb"),
            os.path.join(nodes, (hostname.full() or os.uname().nodename) + ".json"),
        )
        contract.write_private(config, client.encode("utf-8"))
        contract.write_private(node, json.dumps(dict(attributes, run_list=run_list), indent=4).encode("ascii"))
        command = [program, "-z", "--config", config, "-j", node]
        return contract.Command(command, environment, working, None, _fetch(job, kitchen, environment["PATH"]))

    def finish(self, job: contract.Job, code: int) -> contract.Finished:
        return contract.with_declared(job, code, self._outputs(job))


def _run_list(job: contract.Job) -> Optional[List[Any]]:
    config = job.config
    if isinstance(config, str):
        if not config.strip():
            return None
        try:
            config = json.loads(config)
        except ValueError as exc:
            raise contract.CannotRun("the config of group chef is no JSON list: {}".format(exc), 1) from exc
    if config is not None and not isinstance(config, list):
        raise contract.CannotRun("the config of group chef must be a list, the run list", 1)
    return config


def _fetch(job: contract.Job, kitchen: str, path: str) -> Tuple[List[str], ...]:
    """The commands that bring the kitchen. A clone that is there is kept, but for an UPDATE, which has it anew."""
    source = job.deployment.options.get("kitchen")
    if not source:
        return ()
    git = contract.find_tool({"PATH": path}, ["git"], "package git")
    is_clone = os.path.isdir(os.path.join(kitchen, ".git"))
    if is_clone and job.deployment.action != "UPDATE" and _origin(git, kitchen) == str(source):
        return ()
    if is_clone:
        shutil.rmtree(kitchen)
    elif os.path.isdir(kitchen) and os.listdir(kitchen):
        raise contract.CannotRun("chef hook: {} is there already and is no clone of {}".format(kitchen, source), 1)
    return ([git, "clone", "--", str(source), kitchen],)


def _origin(git: str, kitchen: str) -> str:
    done = subprocess.run(
        [git, "-C", kitchen, "config", "--get", "remote.origin.url"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    return done.stdout.decode("utf-8", "replace").strip()


def _quoted(text: str) -> str:
    """For a Ruby string in single quotes."""
    return text.replace("\\", "\\\\").replace("'", "\\'")
