"""Reaching ansible-runner as a subprocess of whichever interpreter has it."""

import json
import os
import pkgutil
import subprocess
from typing import Dict, List, NamedTuple, Optional

from calor.agent.hooks import contract, yaml_text

QUESTION = "import importlib.util, sys; sys.exit(importlib.util.find_spec('ansible_runner') is None)"


class Spec(NamedTuple):
    """What our driver (``data/ansible_driver.txt``) runs."""

    playbooks: List[str]
    inventory: str
    arguments: List[str]
    project: str
    told: str


def find_interpreter(program: str, environment: Dict[str, str]) -> Optional[str]:
    """An interpreter that has ansible_runner: that of ansible-playbook's first line, else python3."""
    for candidate in (yaml_text.shebang(program), contract.which("python3", environment)):
        if candidate and _has_runner(candidate, environment):
            return candidate
    return None


def prepare(interpreter: str, spec: Spec, directory: str) -> List[str]:
    """Write driver and spec into the attempt's directory; the command that runs them."""
    driver, request = os.path.join(directory, "driver.py"), os.path.join(directory, "driver.json")
    contract.write_private(driver, pkgutil.get_data("calor.agent", "data/ansible_driver.txt") or b"")
    private = os.path.join(directory, "runner")
    os.makedirs(private, mode=0o700, exist_ok=True)
    document = dict(spec._asdict(), directory=private)
    contract.write_private(request, json.dumps(document).encode("utf-8"))
    return [interpreter, driver, request]


def _has_runner(interpreter: str, environment: Dict[str, str]) -> bool:
    try:
        done = subprocess.run([interpreter, "-c", QUESTION], env=environment, timeout=20, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
