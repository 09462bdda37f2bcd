"""Where everything lies in the instance; every path moves with ``root``, so that a test needs no root."""

import os
from typing import List, Mapping, NamedTuple

HOOK_DIRECTORIES = ("/usr/libexec/heat-config/hooks", "/var/lib/heat-config/hooks")


class Places(NamedTuple):
    """Absolute paths of the agent's own files, below ``root``."""

    root: str
    config: str
    state: str
    log: str
    boot_id: str

    @property
    def runs(self) -> str:
        return os.path.join(self.state, "runs")

    @property
    def outbox(self) -> str:
        return os.path.join(self.state, "outbox")

    @property
    def status(self) -> str:
        return os.path.join(self.state, "status.json")

    @property
    def ungrouped(self) -> str:
        """The folder of the configs of the groups without a hook, as our server hands them out now."""
        return os.path.join(self.state, "ungrouped")

    def under(self, path: str) -> str:
        """An absolute path of the instance, moved below the root."""
        return os.path.join(self.root, path.lstrip("/"))

    def hook_directories(self, environment: Mapping[str, str]) -> List[str]:
        named = [part for part in environment.get("HEAT_CONFIG_HOOKS", "").split(os.pathsep) if part]
        return named + [self.under(path) for path in HOOK_DIRECTORIES]

    def heat(self, environment: Mapping[str, str], variable: str, default: str) -> str:
        """A directory of Heat's conventions: the environment's word, else Heat's default."""
        return environment.get(variable) or self.under(default)


def find(environment: Mapping[str, str], root: str = "") -> Places:
    """The places of this machine; ``CALOR_*`` variables move single ones."""
    base = os.path.abspath(root or environment.get("CALOR_ROOT") or "/")

    def place(variable: str, path: str) -> str:
        return os.path.abspath(environment.get(variable) or os.path.join(base, path.lstrip("/")))

    return Places(
        root=base,
        config=place("CALOR_AGENT_CONFIG", "/etc/calor/agent.json"),
        state=place("CALOR_STATE_DIR", "/var/lib/calor"),
        log=place("CALOR_LOG_FILE", "/var/log/calor-agent.log"),
        boot_id=environment.get("CALOR_BOOT_ID_FILE") or "/proc/sys/kernel/random/boot_id",
    )
