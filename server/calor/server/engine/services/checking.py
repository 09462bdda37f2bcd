"""What a request must pass before anything of it is stored."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from calor.server.engine.contract.views import StackRequest
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision import requests
from calor.server.engine.revision.blueprint import Blueprint
from calor.server.engine.revision.nested_checks import Findings, check_tree
from calor.server.engine.revision.requests import Wish
from calor.server.engine.revision.revisions import Blueprints
from calor.server.engine.services import containers, credentials
from calor.server.errors import InvalidInput, NotSupported, Problem, RequestLimitExceeded, StackExists
from calor.server.identity import Caller
from calor.server.store import queries
from calor.server.store.rows import StackRow
from calor.server.template import Pending, told_together
from calor.server.template.problems import in_order
from calor.server.template.source import Source


def taken(name: str) -> StackExists:
    return StackExists(f"The Stack ({name}) already exists.")


class Checks:
    def __init__(self, tools: Tools, blueprints: Blueprints) -> None:
        self._tools = tools
        self._blueprints = blueprints

    async def check_room(self, caller: Caller, name: str) -> None:
        if await queries.live_stack(self._tools.database, caller.project_id, name) is not None:
            raise taken(name)
        limit = self._tools.settings.max_stacks_per_tenant
        count = await queries.count_live_stacks(self._tools.database, caller.project_id)
        if 0 <= limit <= count:
            raise RequestLimitExceeded(
                f"max_stacks_per_tenant: You have reached the maximum stacks per tenant, {limit}; there are {count}."
            )

    async def checked(self, caller: Caller, stack: StackRow, wish: Wish) -> tuple[Blueprint, Findings]:
        """With what was found of the whole tree.

        Raises `InvalidInput` with all that is wrong, as far as it can be known before anything is done.
        """
        settings = self._tools.settings
        findings, problems = Findings(), list[Problem]()

        def work() -> Blueprint | None:
            unknown, faults = list[Problem](), list[Problem]()
            try:
                with told_together(faults):
                    drawn = self._blueprints.draw(
                        stack, wish.template, wish.environment, wish.given, wish.files, unknown=unknown, faults=faults
                    )
                    check_tree(drawn, self._tools.registry, settings.max_nested_stack_depth, unknown, findings)
            except InvalidInput as error:
                problems.extend(error.problems)
                return None
            return drawn

        blueprint = await self._tools.gate.beside(wish, work)
        limit = settings.max_resources_per_stack
        if 0 <= limit < findings.resources:
            raise RequestLimitExceeded(
                f"max_resources_per_stack: a tree of stacks may have {limit} resources, this one has "
                f"{findings.resources}."
            )
        if findings.pending:
            problems += await self._refused_by_cloud(caller, findings.pending, stack.region)
        if problems or blueprint is None:
            raise InvalidInput(in_order(problems, wish.template.source.file))
        return blueprint, findings

    async def _refused_by_cloud(
        self, caller: Caller, pending: Sequence[tuple[Source, Pending]], region: str | None
    ) -> list[Problem]:
        """Each value is asked for once, and told at each place."""
        cloud = self._tools.door.open(credentials.of_token(caller, region))
        values = {(one.constraint, str(one.value)): one.value for _, one in pending}
        found = await asyncio.gather(
            *(self._tools.lookup.check_custom(cloud, constraint, value) for (constraint, _), value in values.items())
        )
        answers = dict(zip(values, found, strict=True))
        problems = [
            source.problem(f"{one.description} {text}".strip(), one.path, value=True, code="cloud-constraint")
            for source, one in pending
            if (text := answers[one.constraint, str(one.value)]) is not None
        ]
        return list(dict.fromkeys(problems))

    async def wish(self, caller: Caller, stack: StackRow, request: StackRequest) -> Wish:
        request = await containers.filled(self._tools, caller, request)
        if not request.existing:
            return await self._tools.gate.read(request)
        if stack.revision_id is None:
            raise NotSupported(f"PATCH update to non-COMPLETE stack {stack.name}: it has no template to start from.")
        row = await self._blueprints.row(stack.revision_id)
        request = await self._tools.gate.translated(request)
        heavy = await self._tools.gate.passed(request)
        wish = await requests.patched(request, row, self._blueprints, self._tools.sealing, self._tools.settings)
        return replace(wish, is_heavy=heavy)
