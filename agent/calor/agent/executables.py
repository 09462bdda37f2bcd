"""Which groups have a program of their own in the hook directories."""

import os
import re
from typing import List, Mapping, Optional, Sequence

from calor.agent.deployments import UNGROUPED, Deployment
from calor.agent.places import Places


def _file_name(group: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "", group)


def find_executable(group: str, directories: Sequence[str]) -> Optional[str]:
    """The program for a group, named like it but for characters other than alphanumerics, - and _."""
    name = _file_name(group)
    for directory in directories:
        path = os.path.join(directory, name)
        if name and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def list_executables(directories: Sequence[str]) -> List[str]:
    found = set()
    for directory in directories:
        for name in os.listdir(directory) if os.path.isdir(directory) else []:
            if find_executable(name, [directory]):
                found.add(name)
    return sorted(found)


def is_for_us(deployment: Deployment, places: Places, environment: Mapping[str, str]) -> bool:
    """What has no group is left to others, unless somebody put a hook for it."""
    if deployment.group != UNGROUPED:
        return True
    return find_executable(deployment.group, places.hook_directories(environment)) is not None
