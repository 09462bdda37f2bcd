"""Groups ``apply-config`` and ``os-apply-config``: a tree of templates, rendered with the metadata of this instance."""

import shlex
import sys

from calor.agent import metadata_files, template_tree
from calor.agent.hooks import contract, working


class ApplyConfig(working.Working):
    """Runs ``$HEAT_APPLY_CONFIG_CMD`` or os-apply-config where there is one, else renders the tree of templates itself.

    A config that is a map may bring ``templates`` (path -> text) and ``metadata`` of its own; these are rendered here.
    """

    group = "apply-config"

    def prepare(self, job: contract.Job) -> contract.Command:
        command = working.Working.prepare(self, job._replace(config=job.config or {"templates": {}}))
        if command is None:
            raise contract.CannotRun("apply-config hook: nothing to run", 1)
        return command

    def check(self, job: contract.Job) -> None:
        config = contract.as_document(job, self.group)
        for key in ("templates", "metadata"):
            if not isinstance(config.get(key) or {}, dict):
                raise contract.CannotRun("apply-config hook: {} must be a map".format(key), 1)

    def work(self, job: contract.Job) -> int:
        config = contract.as_document(job, self.group)
        environment = contract.base_environment(job.environment)
        named = shlex.split(job.environment.get("HEAT_APPLY_CONFIG_CMD") or "")
        if named:
            return working.call(job, [contract.find_tool(environment, named[:1], ""), *named[1:]])
        installed = contract.which("os-apply-config", environment)
        if installed and not config.get("templates"):
            return working.call(job, [installed])
        try:
            metadata = metadata_files.merged([metadata_files.collected(job.places), config.get("metadata") or {}])
            sources = template_tree.given(config["templates"]) if config.get("templates") else _tree(job)
            for line in template_tree.apply(sources, metadata, job.places.root):
                sys.stdout.write(line + "\n")
        except (template_tree.TreeFault, metadata_files.MetadataFault) as exc:
            raise contract.CannotRun(str(exc), 1) from exc
        return 0


class OsApplyConfig(ApplyConfig):
    """The config is data only, and lies with the metadata already. In TripleO's images no hook serves this group: a
    script at the end of each run of os-refresh-config signals its deployments."""

    group = "os-apply-config"

    def prepare(self, job: contract.Job) -> contract.Command:
        return ApplyConfig.prepare(self, job._replace(config=None))

    def work(self, job: contract.Job) -> int:
        return ApplyConfig.work(self, job._replace(config={}))


def _tree(job: contract.Job) -> template_tree.Sources:
    root = job.environment.get("OS_CONFIG_APPLIER_TEMPLATES") or job.places.under(template_tree.ROOT)
    return template_tree.below(root)
