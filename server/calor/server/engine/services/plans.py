"""The service of plans, and the id that binds an update to the plan that was seen."""

import hashlib
import hmac
import json
import re
from collections.abc import Iterable

from calor.server.engine.contract.plan_views import PlanView
from calor.server.engine.contract.views import StackRequest
from calor.server.engine.planning.planning import Planner
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision import requests
from calor.server.engine.revision.requests import Wish
from calor.server.engine.revision.revisions import Blueprints
from calor.server.engine.services import containers, credentials, presenting
from calor.server.engine.services.checking import Checks
from calor.server.errors import EntityNotFound, NotSupported, PlanOutdated
from calor.server.identity import Caller
from calor.server.store import queries
from calor.server.store.rows import ResourceRow, StackRow
from calor.server.template import mask, plain, reveal

_ID = re.compile("[0-9a-f]{32}")
_OF_ROW = (
    "id",
    "stack_id",
    "name",
    "type",
    "action",
    "status",
    "physical_id",
    "properties",
    "pending",
    "meta",
    "deletion_policy",
    "replaced_by",
    "child_id",
)


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
        cloud = self._tools.door.open(credentials.of_token(caller, stack.region))
        planner = Planner(self._tools, self._blueprints, cloud, stacks, rows)
        steps = await planner.of(stack, blueprint)
        return PlanView(id=plan_id(stack, rows, wish), stack=presenting.identity(stack), steps=steps)

    async def _of_create(self, caller: Caller, request: StackRequest) -> PlanView:
        if request.existing:
            raise NotSupported(f"There is no stack {request.name!r} whose template could be kept.")
        filled = await containers.filled(self._tools, caller, request)
        wish = await self._tools.gate.read(filled)
        stack = requests.fresh_stack(caller, request, wish, self._tools.clock.now(), self._tools.settings)
        blueprint, _ = await self._checks.checked(caller, stack, wish)
        cloud = self._tools.door.open(credentials.of_token(caller, stack.region))
        steps = await Planner(self._tools, self._blueprints, cloud, {}, ()).of(stack, blueprint)
        return PlanView(id="", stack=None, steps=steps)


def check_plan(asked: str, stack: StackRow, rows: Iterable[ResourceRow], wish: Wish) -> None:
    """Raises `PlanOutdated` unless nothing has changed since that plan: neither what is asked nor what there is;
    `EntityNotFound` for what cannot be the id of any plan."""
    if asked and not _ID.fullmatch(asked):
        raise EntityNotFound(f"There is no plan {asked!r}. Make one: calor stack plan.")
    if asked and not hmac.compare_digest(asked.encode(), plan_id(stack, rows, wish).encode()):
        raise PlanOutdated(
            f"The stack {stack.name!r}, its resources, or what is asked of it have changed since the plan {asked!r} "
            "was made. Make a new plan."
        )


def plan_id(stack: StackRow, rows: Iterable[ResourceRow], wish: Wish) -> str:
    """A mark of all that the plan rests on. Keyed with a sealed text that only the server knows, since parameters may
    be secrets that could be guessed."""
    facts = {
        "stack": [stack.id, stack.revision_id, stack.action, stack.status, stack.started_at],
        "rows": sorted([getattr(row, name) for name in _OF_ROW] for row in rows),
        "template": wish.source if isinstance(wish.source, str) else plain(wish.source),
        "environment": reveal(wish.environment.raw()),
        "parameters": reveal(wish.given),
        "files": {name: str(text) for name, text in wish.files.items()},
    }
    text = json.dumps(mask(facts), sort_keys=True, default=str)
    key = (stack.credentials or stack.id).encode()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:32]
