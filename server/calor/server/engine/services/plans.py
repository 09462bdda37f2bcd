"""The service of plans."""

from collections.abc import Mapping, Sequence

from calor.server.engine.contract.plan_views import PlannedStep, PlanView
from calor.server.engine.contract.views import StackRequest
from calor.server.engine.planning.planning import Planner
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision import requests
from calor.server.engine.revision.blueprint import Blueprint
from calor.server.engine.revision.revisions import Blueprints
from calor.server.engine.services import containers, credentials, guarding, plan_ids, presenting
from calor.server.engine.services.checking import Checks
from calor.server.errors import NotSupported
from calor.server.identity import Caller
from calor.server.store import queries
from calor.server.store.rows import ResourceRow, StackRow


class PlanService:
    def __init__(self, tools: Tools, blueprints: Blueprints) -> None:
        self._tools = tools
        self._blueprints = blueprints
        self._checks = Checks(tools, blueprints)

    async def plan(self, caller: Caller, request: StackRequest) -> PlanView:
        """Of an update where the project has a stack of that name, else of a creation. Nothing is stored. Raises what
        the update or the creation would raise."""
        requests.check_name(request.name)
        stack = await queries.live_stack(self._tools.database, caller.project_id, request.name)
        if stack is None:
            return await self._of_create(caller, request)
        wish = await self._checks.wish(caller, stack, request)
        blueprint, _ = await self._checks.checked(caller, stack, wish)
        stacks = {row.id: row for row in await queries.tree(self._tools.database, stack.root_id)}
        rows = await queries.tree_resources(self._tools.database, stack.root_id)
        steps = await steps_of(self._tools, caller, stack, blueprint, stacks, rows)
        return PlanView(
            id=plan_ids.of_update(self._tools.signer, stack, rows, wish),
            stack=presenting.identity(stack),
            steps=guarding.guarded(steps, request.guard, request.allow_replace),
        )

    async def _of_create(self, caller: Caller, request: StackRequest) -> PlanView:
        if request.existing:
            raise NotSupported(f"There is no stack {request.name!r} whose template could be kept.")
        filled = await containers.filled(self._tools, caller, request)
        wish = await self._tools.gate.read(filled)
        stack = requests.fresh_stack(caller, request, wish, self._tools.clock.now(), self._tools.settings)
        blueprint, _ = await self._checks.checked(caller, stack, wish)
        steps = await steps_of(self._tools, caller, stack, blueprint, {}, ())
        return PlanView(
            id=plan_ids.of_creation(self._tools.signer, caller, request.name, wish), stack=None, steps=steps
        )


async def steps_of(
    tools: Tools,
    caller: Caller,
    stack: StackRow,
    blueprint: Blueprint,
    stacks: Mapping[str, StackRow],
    rows: Sequence[ResourceRow],
) -> list[PlannedStep]:
    """What would be done to a stack and all that is nested in it, asked with the caller's rights."""
    cloud = tools.door.open(credentials.of_token(caller, stack.region))
    return await Planner(tools, tools.blueprints, cloud, stacks, rows).of(stack, blueprint)
