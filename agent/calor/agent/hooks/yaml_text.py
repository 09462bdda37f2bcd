"""Configs that are YAML text. The agent has no YAML reader of its own: it asks an interpreter that has one."""

import json
import os
import subprocess
import sys
from typing import Any, Iterator, Mapping, Optional, Tuple

from calor.agent.hooks import contract

READER = "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin.buffer), sys.stdout, default=str)"
NO_YAML = 42
PROBE = "import sys\ntry:\n import yaml\nexcept ImportError:\n sys.exit({})\n".format(NO_YAML)
PROGRAMS = ("ansible-playbook", "docker-compose", "podman-compose", "salt-call", "cloud-init")


def read(text: str, environment: Mapping[str, str]) -> Any:
    """The document. JSON, which is YAML too, needs no reader. Raises CannotRun for what is no YAML, or if nothing here
    can read it."""
    found, is_json = _as_json(text)
    if is_json:
        return found
    for interpreter in _interpreters(environment):
        done = subprocess.run(
            [interpreter, "-c", PROBE + READER],
            input=text.encode("utf-8", "surrogateescape"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment, PYTHONIOENCODING="utf-8"),
        )
        if done.returncode == 0:
            return json.loads(done.stdout.decode("utf-8"))
        if done.returncode != NO_YAML:
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-4:]
            raise contract.CannotRun("the config is no YAML: {}".format(" ".join(last)), 1)
    raise contract.CannotRun("no Python here can read YAML; package python3-yaml or python3-pyyaml brings that")


def _as_json(text: str) -> Tuple[Any, bool]:
    try:
        return json.loads(text), True
    except ValueError:
        return None, False


def _interpreters(environment: Mapping[str, str]) -> Iterator[str]:
    """This one, python3, and those of programs that are written in Python and read YAML."""
    seen = set()
    for name in (sys.executable, "python3", *PROGRAMS, "/usr/bin/python3", "/usr/libexec/platform-python"):
        path = contract.which(name, environment) if name else None
        if path and name in PROGRAMS:
            path = shebang(path)
        if path and path not in seen and os.access(path, os.X_OK):
            seen.add(path)
            yield path


def shebang(program: str) -> Optional[str]:
    """The Python that a program's first line names."""
    with open(program, "rb") as source:
        line = source.readline(512)
    words = line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
    return words[0] if words and "python" in os.path.basename(words[0]) else None
