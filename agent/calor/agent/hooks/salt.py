"""Group ``salt``: the config is a state file, inputs are pillar data and minion options, outputs keys of the result."""

import glob
import json
import os
import shutil
from typing import Any, Dict, List, Optional

from calor.agent import outputs
from calor.agent.hooks import contract

MOST = 16 * outputs.LIMIT


class Salt(contract.Hook):
    """Heat's salt hook: ``state.sls`` by salt-call without a master, with the minion's own configuration below ours."""

    group = "salt"

    def _outputs(self, job: contract.Job) -> contract.OutputFiles:
        return contract.OutputFiles(job, "HEAT_SALT_OUTPUTS", "/var/run/heat-config/heat-config-salt")

    def prepare(self, job: contract.Job) -> Optional[contract.Command]:
        if not job.config or not contract.as_text(job.config).strip():
            return None
        environment = contract.base_environment(job.environment)
        program = contract.find_tool(environment, ["salt-call"], "package salt-minion (or salt from PyPI)")
        working = job.places.heat(job.environment, "HEAT_SALT_WORKING", "/var/lib/heat-config/heat-config-salt")
        os.makedirs(working, mode=0o700, exist_ok=True)
        files = self._outputs(job)
        files.clear()
        state = os.path.join(working, "{}.sls".format(job.deployment.id))
        contract.write_private(state, contract.as_text(job.config).encode("utf-8", "surrogateescape"))
        values = dict(job.deployment.inputs, heat_outputs_path=files.prefix)
        command = [program, "--local", "--config-dir", _configuration(job, working, values)]
        command += ["--metadata", "--out", "json", "--out-indent", "-1", "--no-color", "--retcode-passthrough"]
        command += ["state.sls", job.deployment.id]
        return contract.Command(command, environment, working)

    def finish(self, job: contract.Job, code: int) -> contract.Finished:
        found = _answer(job)
        if found is None:
            return contract.with_declared(job, code, self._outputs(job))
        if _all_true(found.get("return")):
            code = 0
        elif code == 0:
            code = int(found.get("retcode") or 0)
        done = contract.with_declared(job, code, self._outputs(job), found)
        reason = _reason(found.get("return")) if code != 0 else ""
        return done._replace(reason=reason or done.reason)


def _configuration(job: contract.Job, working: str, values: Dict[str, Any]) -> str:
    """A configuration directory for this config: the minion's own files, and after them ours."""
    folder = os.path.join(working, "{}.conf".format(job.deployment.id))
    parts = os.path.join(folder, "minion.d")
    if os.path.isdir(folder):
        shutil.rmtree(folder)
    os.makedirs(parts, mode=0o700)
    own = job.environment.get("SALT_MINION_CONFIG") or job.places.under("/etc/salt/minion")
    main = os.path.join(folder, "minion")
    contract.write_private(main, _read(own) if os.path.isfile(own) else b"")
    for path in sorted(glob.glob(own + ".d/*.conf")):
        contract.write_private(os.path.join(parts, os.path.basename(path)), _read(path))
    pillar = os.path.join(folder, "pillar")
    ours = {
        "file_client": "local",
        "file_roots": {"base": [working]},
        "pillar_roots": {"base": [pillar]},
        "pillar_opts": True,  # templates written for Heat find their inputs in pillar['master']
    }
    options = dict(values, **ours)
    contract.write_private(os.path.join(parts, "zz-calor.conf"), json.dumps(options).encode("ascii"))
    os.makedirs(pillar, mode=0o700)
    contract.write_private(os.path.join(pillar, "top.sls"), b'{"base": {"*": ["inputs"]}}')
    contract.write_private(os.path.join(pillar, "inputs.sls"), b"#!json\n" + json.dumps(values).encode("ascii"))
    return folder


def _read(path: str) -> bytes:
    with open(path, "rb") as source:
        return source.read()


def _answer(job: contract.Job) -> Optional[Dict[str, Any]]:
    """What the call returned with its metadata, if it got so far."""
    if not os.path.exists(job.stdout) or os.path.getsize(job.stdout) > MOST:
        return None
    text = _read(job.stdout).decode("utf-8", "replace")
    begin = text.find("{")
    try:
        found = json.loads(text[begin:]) if begin >= 0 else None
    except ValueError:
        return None
    local = found.get("local") if isinstance(found, dict) else None
    return local if isinstance(local, dict) else None


def _all_true(states: Any) -> bool:
    """Salt's return codes are not always true: what counts is the result of each state."""
    return isinstance(states, dict) and all(isinstance(one, dict) and one.get("result") for one in states.values())


def _reason(states: Any) -> str:
    """'state ID (FUNCTION): comment' of the states that failed, at most three."""
    found: List[str] = []
    if isinstance(states, list):
        found = [str(line) for line in states]
    elif isinstance(states, dict):
        for key, one in states.items():
            if isinstance(one, dict) and one.get("result") is False:
                module, _, rest = key.partition("_|-")
                ident, function = rest.partition("_|-")[0], key.rpartition("_|-")[2]
                found.append("state {} ({}.{}): {}".format(ident, module, function, one.get("comment")))
    return outputs.plain("; ".join(found[:3]))[:1000]
