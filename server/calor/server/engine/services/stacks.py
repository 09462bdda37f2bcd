"""The service of stacks: what the API asks, checked, stored, and handed to the trees."""

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from calor.server.engine.contract.plan_views import PlannedStep, counts_of
from calor.server.engine.contract.views import Guard, Retained, StackIdentity, StackRequest
from calor.server.engine.durable.reasons import bounded
from calor.server.engine.durable.tree import values_of
from calor.server.engine.reconcile import happenings
from calor.server.engine.reconcile.failing import followed
from calor.server.engine.reconcile.operation import Operation
from calor.server.engine.reconcile.stopping import StopKind, StopReason
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.reconcile.trees import Trees
from calor.server.engine.revision import requests
from calor.server.engine.revision.blueprint import Blueprint
from calor.server.engine.revision.nested_checks import Findings
from calor.server.engine.revision.requests import Wish
from calor.server.engine.revision.revisions import Blueprints
from calor.server.engine.services import (
    containers,
    credentials,
    guarding,
    legality,
    plan_ids,
    presenting,
    retaining,
)
from calor.server.engine.services.checking import taken
from calor.server.engine.services.finding import missing_stack
from calor.server.engine.services.plans import steps_of
from calor.server.engine.services.stack_answers import StackAnswers
from calor.server.errors import NotSupported
from calor.server.identity import Caller, SealBroken
from calor.server.store import queries
from calor.server.store.models import Operation as OperationModel
from calor.server.store.models import Revision, Stack
from calor.server.store.rows import RevisionRow, StackRow
from calor.server.store.states import Action, Status
from calor.server.store.writes import Insert, Write

_VERBS = {"suspend": Action.SUSPEND, "resume": Action.RESUME, "check": Action.CHECK}
CANCELLED = StopReason(StopKind.CANCEL, "user triggered cancel")


class StackService(StackAnswers):
    def __init__(self, tools: Tools, trees: Trees, blueprints: Blueprints) -> None:
        super().__init__(tools, blueprints)
        self._trees = trees

    async def create(self, caller: Caller, request: StackRequest) -> StackIdentity:
        requests.check_name(request.name)
        await self._checks.check_room(caller, request.name)
        request = await containers.filled(self._tools, caller, request)
        wish = await self._tools.gate.read(request)
        if request.plan:
            known = plan_ids.of_creation(self._tools.signer, caller, request.name, wish)
            plan_ids.check(request.plan, known, request.name)
        stack = requests.fresh_stack(caller, request, wish, self._tools.clock.now(), self._tools.settings)
        blueprint, findings = await self._checks.checked(caller, stack, wish)
        kept = await credentials.delegated(self._tools.door, caller, findings, stack.region)
        revision = self._revision(stack, wish, blueprint)
        values = values_of(stack) | {
            "revision_id": revision.id,
            "credentials": self._tools.sealing.secret(kept),
            "status_reason": _warned(stack.status_reason, findings),
        }
        stack = StackRow(**values)
        event = happenings.of_stack(stack, Action.CREATE, Status.IN_PROGRESS, stack.status_reason, stack.created_at)
        writes = [Insert(Stack, values_of(stack)), _stored(revision), self._asked(caller, stack), event]
        self._blueprints.keep(revision.id, blueprint)
        try:
            await self._trees.plant(stack, writes)
        except Exception:  # any database says "taken" in its own way: ask it plainly, else it was something else
            if await queries.live_stack(self._tools.database, caller.project_id, request.name) is not None:
                raise taken(request.name) from None
            raise
        return presenting.identity(stack)

    async def update(self, caller: Caller, name: str, ident: str, request: StackRequest) -> Mapping[str, int] | None:
        stack = await self._find.stack(caller, name, ident)
        legality.check_update(stack)
        wish = await self._checks.wish(caller, stack, request)
        blueprint, findings = await self._checks.checked(caller, stack, wish)
        kept = await credentials.renewed(self._tools.door, caller, findings, stack.region, self._rights(stack))

        steps: list[PlannedStep] = []

        async def work(operation: Operation) -> None:
            legality.check_update(operation.tree.root)
            steps[:] = await self._planned(caller, operation, wish, blueprint, request)
            revision = self._revision(stack, wish, blueprint)
            self._blueprints.keep(revision.id, blueprint)
            values: dict[str, Any] = {
                "revision_id": revision.id,
                "credentials": self._tools.sealing.secret(kept),
                "description": blueprint.model.template.description,
                "updated_at": self._tools.clock.now(),
                "timeout_mins": request.timeout_mins if request.timeout_mins is not None else stack.timeout_mins,
            }
            if request.disable_rollback is not None:
                values["disable_rollback"] = request.disable_rollback
            if request.tags is not None or not request.existing:
                values["tags"] = list(request.tags or ())
            reason = _warned("Stack UPDATE started", findings)
            await self._begin(caller, operation, Action.UPDATE, _stored(revision), status_reason=reason, **values)

        await self._change(stack, work)
        return counts_of(steps) if request.guard is not Guard.NONE else None

    async def _planned(
        self, caller: Caller, operation: Operation, wish: Wish, blueprint: Blueprint, request: StackRequest
    ) -> Sequence[PlannedStep]:
        """The steps, where the request has a guard. Raises unless the update is still what was planned, and nothing of
        it is what the request guards against."""
        tree = operation.tree
        rows = list(tree.rows.values())
        if request.plan:
            plan_ids.check(request.plan, plan_ids.of_update(self._tools.signer, tree.root, rows, wish), tree.root.name)
        if request.guard is Guard.NONE and not request.allow_replace:
            return ()
        steps = await steps_of(self._tools, caller, tree.root, blueprint, tree.stacks, rows)
        steps = guarding.guarded(steps, request.guard, request.allow_replace)
        if request.guard is not Guard.NONE:
            guarding.check(steps)
        return steps

    async def delete(self, caller: Caller, name: str, ident: str, *, retain: Sequence[str] = ()) -> Sequence[Retained]:
        stack = await self._find.stack(caller, name, ident)
        retained: list[Retained] = []

        async def work(operation: Operation) -> None:
            if operation.tree.root.deleted_at is not None:
                raise missing_stack(f"{name}/{ident}")
            retained[:] = await retaining.mark(operation.tree, retain)
            known = self._rights(operation.tree.root)
            known["caller"] = credentials.of_token(caller, stack.region).as_record()
            await self._begin(caller, operation, Action.DELETE, credentials=self._tools.sealing.secret(known))

        await self._change(stack, work)
        return retained

    async def action(self, caller: Caller, name: str, ident: str, action: str) -> None:
        stack = await self._find.stack(caller, name, ident)
        if stack.owner_id is not None:
            raise NotSupported(f"{action} of a nested stack is not supported; ask it of its root stack.")

        async def work(operation: Operation) -> None:
            root = operation.tree.root
            legality.check_action(root, action)
            if action == "cancel_update":
                operation.cancel(CANCELLED, rollback=True)
                await self._begin(caller, operation, Action.ROLLBACK, revision_id=root.good_revision_id)
            elif action == "cancel_without_rollback":
                operation.cancel(CANCELLED, rollback=False)
            elif not legality.is_done(root, action):
                await self._begin(caller, operation, _VERBS[action])

        await self._change(stack, work)

    async def _begin(self, caller: Caller, operation: Operation, action: Action, *more: Write, **values: Any) -> None:
        """Make the root IN_PROGRESS; durable when it returns, so that a read right after shows it (F011)."""
        root, now = operation.tree.root, self._tools.clock.now()
        reason = values.setdefault("status_reason", f"Stack {action.value} started")
        values.setdefault("updated_at", now)
        root = await operation.tree.change_stack(
            root.id,
            *more,
            self._asked(caller, StackRow(**(values_of(root) | {"action": action} | values))),
            happenings.of_stack(root, action, Status.IN_PROGRESS, reason, now),
            action=action,
            status=Status.IN_PROGRESS,
            started_at=now,
            **values,
        )
        operation.new_goal()

    def _revision(self, stack: StackRow, wish: Wish, blueprint: Blueprint) -> RevisionRow:
        at = self._tools.clock.now()
        return self._blueprints.stored(
            str(uuid.uuid4()), stack.id, wish.source, wish.given, blueprint, at, file=wish.file
        )

    def _asked(self, caller: Caller, stack: StackRow) -> Insert:
        values = {
            "id": str(uuid.uuid4()),
            "stack_id": stack.id,
            "action": stack.action,
            "revision_id": stack.revision_id,
            "user_id": caller.user_id,
            "request_id": caller.request_id[:64],
            "asked_at": self._tools.clock.now(),
        }
        return Insert(OperationModel, values)

    async def _change(self, stack: StackRow, work: Callable[[Operation], Awaitable[None]]) -> None:
        if stack.owner_id is not None:
            raise NotSupported("A nested stack is changed through the resource that owns it.")
        await self._trees.change(stack.id, work)

    def _rights(self, stack: StackRow) -> dict[str, Any]:
        """The credentials kept with a stack; none where they cannot be read (that must not block a deletion)."""
        try:
            return dict(self._tools.sealing.value(stack.credentials) or {})
        except SealBroken:
            return {}


def _stored(row: RevisionRow) -> Insert:
    return Insert(Revision, {name: getattr(row, name) for name in RevisionRow.__slots__})


def _warned(reason: str, findings: Findings) -> str:
    """No answer to a client has a place for warnings: what begins an operation, and its event, tell them."""
    return bounded(followed(reason, " ".join(f"Warning: {one.message}" for one in findings.unmatched.told())))
