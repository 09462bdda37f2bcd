"""The options of the ansible hook as arguments of ansible-playbook."""

import json
import os
from typing import Any, Callable, Dict, List, NamedTuple

from calor.agent.hooks import contract

VAULT_INPUT = "ansible_vault_password"
VAULTS_INPUT = "ansible_vault_passwords"
DEFAULT_INVENTORY = "localhost,"
VALUES = (
    ("tags", "--tags", ","),
    ("skip_tags", "--skip-tags", ","),
    ("modulepath", "--module-path", ":"),
    ("limit", "--limit", ","),
    ("start_at_task", "--start-at-task", " "),
    ("forks", "--forks", ""),
    ("become_user", "--become-user", ""),
    ("become_method", "--become-method", ""),
)
FLAGS = ("become", "check", "diff")

Write = Callable[[str, str], str]
"""Write a private file of this config by its kind; its path."""


def _parsed(text: str) -> Any:
    """JSON; a text that is none is shown to nobody."""
    try:
        return json.loads(text)
    except ValueError:
        return text


class Secrets(NamedTuple):
    """Vault passwords by vault id; the one without id under ""."""

    passwords: Dict[str, str]

    @classmethod
    def of(cls, inputs: Dict[str, Any]) -> "Secrets":
        """Raises CannotRun."""
        found = {}
        more = inputs.get(VAULTS_INPUT)
        if isinstance(more, str):
            more = _parsed(more) if more.strip() else {}
        if not isinstance(more or {}, dict):
            raise contract.CannotRun("ansible hook: the input {} must map vault ids".format(VAULTS_INPUT), 1)
        for ident, password in (more or {}).items():
            found[str(ident)] = str(password)
        if inputs.get(VAULT_INPUT):
            found[""] = str(inputs[VAULT_INPUT])
        return cls(found)

    def arguments(self, write: Write) -> List[str]:
        """The passwords go by private files, never as arguments."""
        found: List[str] = []
        for number, (ident, password) in enumerate(sorted(self.passwords.items())):
            path = write("vault{}".format(number or ""), password)
            found += ["--vault-id", "{}@{}".format(ident, path)] if ident else ["--vault-password-file", path]
        return found


def inventory(job: contract.Job, working: str, root: str, write: Write) -> str:
    """Option ``inventory``: a list of hosts with a comma, a file of the bundle or of the working directory, the text of
    an inventory, or a map like that of a YAML inventory."""
    given = job.deployment.options.get("inventory")
    if isinstance(given, (dict, list)):
        return write("inventory.json", json.dumps(given))
    text = contract.as_text(given)
    if not text.strip():
        return job.environment.get("HEAT_ANSIBLE_INVENTORY", DEFAULT_INVENTORY)
    if "\n" not in text.strip():
        if "," in text:
            return text.strip()
        for folder in (root, working):
            path = os.path.join(folder, text.strip())
            if os.path.exists(path):
                return path
    return write("inventory", text)


def arguments(job: contract.Job, hosts: str, variables: str) -> List[str]:
    """All arguments but inventory, vault and playbooks. Raises CannotRun."""
    options = job.deployment.options
    found = ["--extra-vars", "@" + variables]
    if hosts == DEFAULT_INVENTORY:
        found += ["--connection", "local"]  # a play's own `connection` still wins; ssh to oneself never works
    for option, flag, between in VALUES:
        value = options.get(option)
        if value not in (None, "", []):
            found += [flag, between.join(map(str, value)) if isinstance(value, list) else str(value)]
    found += ["--" + option for option in FLAGS if contract.is_true(options.get(option))]
    verbosity = int(contract.number(job, "verbosity", 0))
    if verbosity > 0:
        found.append("-" + "v" * min(verbosity, 6))
    return found
