"""Group ``atomic``: the config names a command of the atomic tool and an image."""

from typing import List, Optional

from calor.agent.hooks import contract

UNDONE_BY = {"install": "uninstall", "run": "stop"}


class Atomic(contract.Hook):
    """``atomic COMMAND [ARGUMENTS] IMAGE``; with deploy_action DELETE what undoes an install or a run."""

    group = "atomic"

    def prepare(self, job: contract.Job) -> Optional[contract.Command]:
        config = contract.as_document(job, self.group)
        if not config:
            return None
        environment = contract.base_environment(job.environment)
        named = job.environment.get("HEAT_ATOMIC_CMD", "atomic")
        program = contract.find_tool(environment, [named], "package atomic (of Fedora, CentOS and RHEL 7)")
        command, image = str(config.get("command") or "install"), config.get("image")
        if not image:
            raise contract.CannotRun("atomic hook: the config names no image", 1)
        if job.deployment.action == "DELETE":
            if command not in UNDONE_BY:
                return None
            command = UNDONE_BY[command]
        more = config.get("arguments") or []
        arguments: List[str] = [str(one) for one in more] if isinstance(more, list) else str(more).split()
        return contract.Command([program, command, *arguments, str(image)], environment)
