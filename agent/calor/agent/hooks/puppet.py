"""Group ``puppet``: the config is a manifest; inputs are facts or hiera data, declared outputs are files it writes."""

import json
import os
import re
import shutil
from typing import Dict, List, Optional

from calor.agent import outputs
from calor.agent.hooks import contract, hostname
from calor.agent.hooks.hiera import data_directory

CHANGED = 2
LOGS = "/var/log/puppet"


class Puppet(contract.Hook):
    """Heat's puppet hook: ``puppet apply`` with the same options and files. Exit code 2, "there were changes", is 0."""

    group = "puppet"

    def _outputs(self, job: contract.Job) -> contract.OutputFiles:
        return contract.OutputFiles(job, "HEAT_PUPPET_OUTPUTS", "/var/run/heat-config/heat-config-puppet")

    def prepare(self, job: contract.Job) -> Optional[contract.Command]:
        text = contract.as_text(job.config)
        if not text.strip():
            return None
        environment = contract.base_environment(job.environment)
        named = job.environment.get("HEAT_PUPPET_CMD", "puppet")
        program = contract.find_tool(environment, [named], "package puppet-agent or puppet")
        working = job.places.heat(job.environment, "HEAT_PUPPET_WORKING", "/var/lib/heat-config/heat-config-puppet")
        os.makedirs(working, mode=0o700, exist_ok=True)
        files = self._outputs(job)
        files.clear()
        environment.update(self._facts(job, files))
        manifest = os.path.join(working, "{}.pp".format(job.deployment.id))
        contract.write_private(manifest, text.encode("utf-8", "surrogateescape"), 0o700)
        command = [program, "apply", "--color", "false", "--detailed-exitcodes", "--logdest", "console"]
        return contract.Command([*command, *_options(job), manifest], environment, working)

    @staticmethod
    def _facts(job: contract.Job, files: contract.OutputFiles) -> Dict[str, str]:
        options, facts = job.deployment.options, {"FACTER_heat_outputs_path": files.prefix}
        full_name = hostname.full()
        if full_name:
            facts["FACTER_fqdn"] = full_name
        if contract.is_true(options.get("enable_facter", True)):
            for name, value in job.deployment.inputs.items():
                facts["FACTER_" + name] = contract.as_text(value)
        if contract.is_true(options.get("enable_hiera")):
            folder = data_directory(job)
            os.makedirs(folder, mode=0o700, exist_ok=True)
            name = job.deployment.name.replace("/", "_")
            path = os.path.join(folder, "heat_config_{}.json".format(name))
            contract.write_private(path, json.dumps(job.deployment.inputs).encode("ascii"))
            facts["FACTER_deploy_config_name"] = name  # a hierarchy makes the file's name of it
        return facts

    def finish(self, job: contract.Job, code: int) -> contract.Finished:
        done = contract.with_declared(job, 0 if code == CHANGED else code, self._outputs(job))
        for name in ("deploy_stdout", "deploy_stderr"):
            done.outputs[name] = outputs.plain(done.outputs[name])
        _keep_logs(job)
        return done


def _options(job: contract.Job) -> List[str]:
    options, found = job.deployment.options, []
    for option, flag in (("modulepath", "--modulepath"), ("tags", "--tags")):
        if options.get(option):
            value = options[option]
            between = ":" if option == "modulepath" else ","
            found += [flag, between.join(map(str, value)) if isinstance(value, list) else str(value)]
    for option, flag, name in (
        ("enable_debug", "--debug", "heat-debug.log"),
        ("enable_verbose", "--verbose", "heat-verbose.log"),
    ):
        if contract.is_true(options.get(option)):
            folder = job.places.under(LOGS)
            os.makedirs(folder, mode=0o750, exist_ok=True)
            found += [flag, "--logdest", os.path.join(folder, name)]
    return found


def _keep_logs(job: contract.Job) -> None:
    """Leave what was printed where people who know Heat's hook look for it."""
    folder = job.places.heat(job.environment, "HEAT_PUPPET_LOGDIR", "/var/run/heat-config/deployed")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    when = re.sub("[:T/]", "-", str(job.deployment.document.get("creation_time") or "unknown"))
    for name, source in (("stdout", job.stdout), ("stderr", job.stderr)):
        if os.path.exists(source) and os.path.getsize(source) <= 16 * outputs.LIMIT:
            shutil.copyfile(source, os.path.join(folder, "{}-{}-{}.log".format(when, job.deployment.id, name)))
