"""The hooks: those built in, then any executable of the name of the group in the hook directories."""

import os
from typing import List, Tuple

from calor.agent.executables import find_executable, list_executables
from calor.agent.hooks.ansible import Ansible
from calor.agent.hooks.apply_config import ApplyConfig
from calor.agent.hooks.atomic import Atomic
from calor.agent.hooks.cfn_init import CfnInit
from calor.agent.hooks.chef import Chef
from calor.agent.hooks.compose import DockerCompose
from calor.agent.hooks.contract import CannotRun, Hook, Job
from calor.agent.hooks.docker_cmd import DockerCmd
from calor.agent.hooks.executable import Executable
from calor.agent.hooks.hiera import Hiera
from calor.agent.hooks.json_file import JsonFile
from calor.agent.hooks.kubelet import Kubelet
from calor.agent.hooks.puppet import Puppet
from calor.agent.hooks.salt import Salt
from calor.agent.hooks.script import Script

HOOKS: Tuple[Hook, ...] = (
    Script(),
    Ansible(),
    CfnInit(),
    ApplyConfig(),
    Atomic(),
    Chef(),
    DockerCmd(),
    DockerCompose(),
    Hiera(),
    JsonFile(),
    Kubelet(),
    Puppet(),
    Salt(),
)


def built_in(group: str) -> Hook:
    """The hook of this group that is part of the agent. Raises KeyError."""
    return {hook.group: hook for hook in HOOKS}[group]


def installed(job: Job) -> List[str]:
    """The groups this instance can apply."""
    own = [hook.group for hook in HOOKS]
    return own + [name for name in list_executables(job.places.hook_directories(job.environment)) if name not in own]


def find(group: str, job: Job) -> Hook:
    """The hook for a group: an executable in ``$HEAT_CONFIG_HOOKS`` beats one built in. Raises CannotRun (F053)."""
    named = [part for part in job.environment.get("HEAT_CONFIG_HOOKS", "").split(os.pathsep) if part]
    override = find_executable(group, named)
    if override:
        return Executable(group, override)
    for hook in HOOKS:
        if hook.group == group:
            return hook
    path = find_executable(group, job.places.hook_directories(job.environment))
    if path is None:
        raise CannotRun("no hook for group {}; installed: {}".format(group, ", ".join(installed(job))))
    return Executable(group, path)
