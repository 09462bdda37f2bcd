"""Hooks that are programs: the deployment as JSON on standard input, the outputs as JSON on standard output."""

import json
import os
from typing import Optional

from calor.agent import outputs
from calor.agent.hooks import contract, large_answers


class Executable(contract.Hook):
    """A program in a hook directory, with Heat's protocol."""

    def __init__(self, group: str, path: str) -> None:
        self.group = group
        self._path = path

    def prepare(self, job: contract.Job) -> contract.Command:
        document = dict(job.deployment.document)
        document.update(group=self.group, config=job.config)
        request = os.path.join(job.directory, "stdin")
        contract.write_private(request, json.dumps(document).encode("utf-8"))
        environment = contract.base_environment(job.environment)
        return contract.Command([self._path], environment, job.directory, request)

    def finish(self, job: contract.Job, code: int) -> contract.Finished:
        found = self._answer(job)
        if found is None:
            return contract.Hook.finish(self, job, code)
        if code != 0 and str(found.get("deploy_status_code", "0")) == "0":
            found["deploy_status_code"] = code
        found.setdefault("deploy_status_code", 0)
        failed = str(found["deploy_status_code"]) != "0"
        last = outputs.plain(str(found.get("deploy_stderr") or found.get("deploy_stdout") or ""))[-500:].strip()
        reason = "{} hook: exit code {}: {}".format(self.group, found["deploy_status_code"], last) if failed else ""
        return contract.Finished(_shortened(found), reason)

    @staticmethod
    def _answer(job: contract.Job) -> Optional[dict]:  # type: ignore[type-arg]  # Python 3.6
        if not os.path.exists(job.stdout):
            return None
        if os.path.getsize(job.stdout) > 2 * outputs.LIMIT:
            return large_answers.read(job.stdout)
        try:
            with open(job.stdout, "rb") as source:
                found = json.loads(source.read().decode("utf-8"))
        except ValueError:
            return None
        return found if isinstance(found, dict) else None


def _shortened(found: dict) -> dict:  # type: ignore[type-arg]  # Python 3.6
    """The outputs with deploy_stdout and deploy_stderr cut in the middle until all can be signalled."""
    limit = outputs.LIMIT
    short = dict(found)
    while outputs.size_of(short) > outputs.LIMIT and limit > 2000:
        limit = limit * 9 // 20
        for name in ("deploy_stdout", "deploy_stderr"):
            text = str(found.get(name) or "")
            if len(text) > limit:
                note = "\n[... calor: {} of {} characters left out ...]\n".format(len(text) - limit, len(text))
                short[name] = text[: limit // 2] + note + text[-(limit // 2) :]
    return short
