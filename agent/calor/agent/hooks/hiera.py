"""Group ``hiera``: data files for Puppet's hiera, and the order in which it looks into them."""

import os
import shlex
import sys
from typing import Any, List

from calor.agent.hooks import contract, working
from calor.agent.hooks.json_file import pretty, put

CHECK = "os-apply-config --key hiera.datafiles --type raw --key-default empty"
VERSION_3 = "\n---\n:backends:\n  - json\n:json:\n  :datadir: {}\n:hierarchy:\n"
VERSION_5 = "---\nversion: 5\ndefaults:\n  datadir: {}\n  data_hash: json_data\nhierarchy:\n"


def data_directory(job: contract.Job) -> str:
    return job.places.heat(job.environment, "HEAT_PUPPET_HIERA_DATADIR", "/etc/puppet/hieradata")


class Hiera(working.Working):
    """Heat's hiera hook. Option ``version`` 5 writes the configuration that Puppet 8 reads."""

    group = "hiera"

    def check(self, job: contract.Job) -> None:
        config = contract.as_document(job, self.group)
        if not isinstance(config.get("datafiles") or {}, dict) or not isinstance(config.get("hierarchy") or [], list):
            raise contract.CannotRun("hiera hook: datafiles must be a map and hierarchy a list", 1)

    def work(self, job: contract.Job) -> int:
        config = contract.as_document(job, self.group)
        legacy = _legacy_data(job)
        if legacy:
            sys.stderr.write("there is hiera data of os-apply-config's element, which goes before: {}\n".format(legacy))
            return 1
        folder = data_directory(job)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if "hierarchy" in config:
            path = job.places.heat(job.environment, "HEAT_HIERA_CONFIG", "/etc/puppet/hiera.yaml")
            put(path, _configuration(folder, config["hierarchy"] or [], job.deployment.options.get("version")), 0o600)
        for name, data in (config.get("datafiles") or {}).items():
            put(os.path.join(folder, "{}.json".format(name)), pretty(data), 0o600)
        return 0


def _configuration(folder: str, hierarchy: List[Any], version: Any) -> bytes:
    if str(version) == "5":
        lines = ['  - name: "{0}"\n    path: "{0}.json"\n'.format(item) for item in hierarchy]
        return (VERSION_5.format(folder) + "".join(lines)).encode("utf-8")
    return (VERSION_3.format(folder) + "".join("  - {}\n".format(item) for item in hierarchy)).encode("utf-8")


def _legacy_data(job: contract.Job) -> str:
    """What os-apply-config's own hiera element would write; "" where it is not installed or has nothing."""
    command = shlex.split(job.environment.get("HEAT_HIERA_ELEMENT_CHECK_CMD") or CHECK)
    try:
        found = working.ask(job, command)[1].strip()
    except contract.CannotRun:
        return ""
    return "" if found in ("", "empty") else found
