"""Group ``script``: the config is a program; inputs are its environment, declared outputs are files it writes."""

import os
from typing import List, Optional

from calor.agent.hooks import contract


class Script(contract.Hook):
    """Heat's script hook. A text without an interpreter line is run by /bin/sh; an empty one is nothing to do."""

    group = "script"

    def _outputs(self, job: contract.Job) -> contract.OutputFiles:
        return contract.OutputFiles(job, "HEAT_SCRIPT_OUTPUTS", "/var/run/heat-config/heat-config-script")

    def prepare(self, job: contract.Job) -> Optional[contract.Command]:
        text = _unix(contract.as_text(job.config))
        if not text.strip():
            return None
        working = job.places.heat(job.environment, "HEAT_SCRIPT_WORKING", "/var/lib/heat-config/heat-config-script")
        os.makedirs(working, mode=0o700, exist_ok=True)
        files = self._outputs(job)
        files.clear()
        path = os.path.join(working, job.deployment.id)
        contract.write_private(path, text.encode("utf-8", "surrogateescape"), 0o700)
        environment = contract.base_environment(job.environment)
        for name, value in job.deployment.inputs.items():
            rendered = contract.as_text(value)
            if not name or "=" in name or "\0" in name or "\0" in rendered:
                raise contract.CannotRun("input {!r} cannot be an environment variable".format(name), 1)
            environment[name] = rendered
        environment["heat_outputs_path"] = files.prefix
        return contract.Command([*_interpreter(text), path], environment, working)

    def finish(self, job: contract.Job, code: int) -> contract.Finished:
        return contract.with_declared(job, code, self._outputs(job))


def _unix(text: str) -> str:
    """A script written on Windows, by its first line or by all of them: no interpreter is named with a CR."""
    ends = text.count("\r\n")
    is_dos = text.partition("\n")[0].endswith("\r") or ends == text.count("\n")
    return text.replace("\r\n", "\n") if ends and is_dos else text


def _interpreter(text: str) -> List[str]:
    return [] if text.startswith(("#!", "\x7fELF")) else ["/bin/sh"]
