"""The hooks: those built in, then any executable of the name of the group in the hook directories."""

import importlib
import os
from typing import List, Tuple

from calor.agent.executables import find_executable, list_executables
from calor.agent.hooks.contract import CannotRun, Hook, Job
from calor.agent.hooks.executable import Executable

HOOKS: Tuple[Tuple[str, str, str], ...] = (
    ("script", "script", "Script"),
    ("ansible", "ansible", "Ansible"),
    ("cfn-init", "cfn_init", "CfnInit"),
    ("apply-config", "apply_config", "ApplyConfig"),
    ("os-apply-config", "apply_config", "OsApplyConfig"),
    ("atomic", "atomic", "Atomic"),
    ("chef", "chef", "Chef"),
    ("docker-cmd", "docker_cmd", "DockerCmd"),
    ("docker-compose", "compose", "DockerCompose"),
    ("hiera", "hiera", "Hiera"),
    ("json-file", "json_file", "JsonFile"),
    ("kubelet", "kubelet", "Kubelet"),
    ("puppet", "puppet", "Puppet"),
    ("salt", "salt", "Salt"),
)
"""Group, module and class. A hook is loaded when it is needed: its start must not pay for the others."""


def built_in(group: str) -> Hook:
    """The hook of this group that is part of the agent. Raises KeyError."""
    module, name = {known: (module, name) for known, module, name in HOOKS}[group]
    found: Hook = getattr(importlib.import_module("calor.agent.hooks." + module), name)()
    return found


def installed(job: Job) -> List[str]:
    """The groups this instance can apply."""
    own = [group for group, _, _ in HOOKS]
    return own + [name for name in list_executables(job.places.hook_directories(job.environment)) if name not in own]


def find(group: str, job: Job) -> Hook:
    """The hook for a group: an executable in ``$HEAT_CONFIG_HOOKS`` beats one built in. Raises CannotRun (F053)."""
    named = [part for part in job.environment.get("HEAT_CONFIG_HOOKS", "").split(os.pathsep) if part]
    override = find_executable(group, named)
    if override:
        return Executable(group, override)
    if group in [known for known, _, _ in HOOKS]:
        return built_in(group)
    path = find_executable(group, job.places.hook_directories(job.environment))
    if path is None:
        raise CannotRun("no hook for group {}; installed: {}".format(group, ", ".join(installed(job))))
    return Executable(group, path)
