"""Stacks, resources and events that live in memory: stored as given, done at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from calor.server import identity
from calor.server.engine.contract import views
from calor.server.engine.contract.views import Action, Status
from calor.server.errors import EntityNotFound, NotSupported, StackExists, StackValidationFailed
from calor.server.identity.callers import Caller

AT = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)


@dataclass
class MemoryStack:
    view: views.StackView
    request: views.StackRequest
    signals: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)


class MemoryStacks:
    def __init__(self) -> None:
        self.all: dict[str, MemoryStack] = {}
        self.last_query: views.StackQuery | None = None
        self.broken: Exception | None = None

    def found(self, caller: Caller, name: str, ident: str) -> MemoryStack:
        stack = self.all.get(ident)
        if stack is None or stack.view.identity.name != name or stack.view.identity.project_id != caller.project_id:
            raise EntityNotFound(f"The Stack ({name}/{ident}) could not be found.")
        return stack

    async def create(self, caller: Caller, request: views.StackRequest) -> views.StackIdentity:
        if self.broken is not None:
            raise self.broken
        if not request.name[:1].isalpha():
            raise StackValidationFailed(f"'{request.name}' is no name of a stack.")
        if any(
            one.view.identity.name == request.name and one.view.identity.project_id == caller.project_id
            for one in self.all.values()
        ):
            raise StackExists(f"The Stack ({request.name}) already exists.")
        stack = views.StackIdentity(project_id=caller.project_id, name=request.name, id=identity.random_id())
        view = views.StackView(
            identity=stack,
            action=Action.CREATE,
            status=Status.COMPLETE,
            status_reason="Stack CREATE completed successfully",
            created_at=AT,
            updated_at=None,
            deleted_at=None,
            description="",
            parameters={"OS::stack_id": stack.id, "OS::stack_name": stack.name, "OS::project_id": caller.project_id},
            timeout_mins=request.timeout_mins,
            disable_rollback=request.disable_rollback is not False,
            tags=request.tags or (),
            owner_id=None,
            user_project_id=None,
            creator_name=caller.user_name,
            outputs=[
                views.OutputView(name="o", description="", value="hello"),
                views.OutputView(name="bad", description="why", error="it broke"),
            ],
        )
        self.all[stack.id] = MemoryStack(view, request)
        return stack

    async def preview(self, caller: Caller, request: views.StackRequest) -> Mapping[str, Any]:
        return {"stack_name": request.name, "resources": []}

    async def validate(self, caller: Caller, request: views.StackRequest, *, show_nested: bool) -> Mapping[str, Any]:
        if request.template == {"bad": True}:
            raise StackValidationFailed("bad")
        return {"Description": "No description", "Parameters": {}, "Environment": {}}

    async def identify(self, caller: Caller, name_or_id: str) -> views.StackIdentity:
        for stack in self.all.values():
            mine = stack.view.identity
            if mine.project_id == caller.project_id and name_or_id in {mine.name, mine.id}:
                return mine
        raise EntityNotFound(f"The Stack ({name_or_id}) could not be found.")

    async def show(self, caller: Caller, name: str, ident: str, *, outputs: bool = True) -> views.StackView:
        view = self.found(caller, name, ident).view
        return view if outputs else replace(view, outputs=None)

    async def list(self, caller: Caller, query: views.StackQuery) -> tuple[Sequence[views.StackView], int]:
        self.last_query = query
        mine = [one.view for one in self.all.values() if one.view.identity.project_id == caller.project_id]
        ids = [view.identity.id for view in mine]
        first = ids.index(query.marker) + 1 if query.marker else 0
        return mine[first:][: query.limit], len(mine)

    async def update(self, caller: Caller, name: str, ident: str, request: views.StackRequest) -> None:
        stack = self.found(caller, name, ident)
        stack.request = request
        stack.view = replace(stack.view, action=Action.UPDATE, updated_at=AT)

    async def preview_update(
        self, caller: Caller, name: str, ident: str, request: views.StackRequest, *, show_nested: bool
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        self.found(caller, name, ident)
        return {"added": [], "deleted": [], "replaced": [], "unchanged": [], "updated": []}

    async def delete(
        self, caller: Caller, name: str, ident: str, *, retain: Sequence[str] = ()
    ) -> Sequence[views.Retained]:
        self.found(caller, name, ident)
        del self.all[ident]
        return [views.Retained(name=one, type="OS::Test", physical_id=f"{one}-id") for one in retain]

    async def action(self, caller: Caller, name: str, ident: str, action: str) -> None:
        self.found(caller, name, ident)
        if action.startswith("cancel"):
            raise NotSupported("There is no update to cancel.")

    async def template(self, caller: Caller, name: str, ident: str) -> Mapping[str, Any]:
        template = self.found(caller, name, ident).request.template
        return template if isinstance(template, Mapping) else {"text": template}

    async def environment(self, caller: Caller, name: str, ident: str) -> Mapping[str, Any]:
        return {"parameters": dict(self.found(caller, name, ident).request.parameters)}

    async def files(self, caller: Caller, name: str, ident: str) -> Mapping[str, str]:
        return self.found(caller, name, ident).request.files

    async def outputs(self, caller: Caller, name: str, ident: str) -> Sequence[views.OutputView]:
        return self.found(caller, name, ident).view.outputs or ()

    async def output(self, caller: Caller, name: str, ident: str, key: str) -> views.OutputView:
        for output in self.found(caller, name, ident).view.outputs or ():
            if output.name == key:
                return output
        raise EntityNotFound(f"The output '{key}' could not be found.")


class MemoryResources:
    """Every stack has one resource ``a`` (a nested stack) that takes signals."""

    def __init__(self, stacks: MemoryStacks) -> None:
        self._stacks = stacks

    def view(self, stack: views.StackIdentity) -> views.ResourceView:
        return views.ResourceView(
            stack=stack,
            name="a",
            type="nested.yaml",
            physical_id="phys",
            action=Action.CREATE,
            status=Status.COMPLETE,
            status_reason="state changed",
            created_at=AT,
            updated_at=AT,
            required_by=["b"],
            attributes={"value": "hello"},
            nested_id="child-id",
            nested_name="shop-a-xyz",
        )

    async def list(
        self, caller: Caller, name: str, ident: str, *, nested_depth: int, filters: Any, detail: bool
    ) -> Sequence[views.ResourceView]:
        return [self.view(self._stacks.found(caller, name, ident).view.identity)]

    async def show(
        self, caller: Caller, name: str, ident: str, resource: str, *, with_attr: Sequence[str]
    ) -> views.ResourceView:
        stack = self._stacks.found(caller, name, ident)
        if resource != "a":
            raise EntityNotFound(f"The Resource ({resource}) could not be found in Stack {name}.")
        return self.view(stack.view.identity)

    async def metadata(self, caller: Caller, name: str, ident: str, resource: str) -> Mapping[str, Any]:
        self._stacks.found(caller, name, ident)
        return {}

    async def signal(self, caller: Caller, name: str, ident: str, resource: str, details: Mapping[str, Any]) -> None:
        self._stacks.found(caller, name, ident).signals.append((resource, details))

    async def mark_unhealthy(
        self, caller: Caller, name: str, ident: str, resource: str, *, unhealthy: bool, reason: str
    ) -> None:
        self._stacks.found(caller, name, ident)


class MemoryEvents:
    def __init__(self, stacks: MemoryStacks) -> None:
        self._stacks = stacks

    def view(self, stack: views.StackIdentity) -> views.EventView:
        return views.EventView(
            id="e1",
            stack=stack,
            root_stack_id=stack.id,
            resource_name="a",
            resource_type="OS::Heat::Value",
            physical_id="phys",
            action=Action.CREATE,
            status=Status.COMPLETE,
            status_reason="state changed",
            at=AT,
            properties={"value": "hello"},
        )

    async def list(
        self, caller: Caller, name: str, ident: str, resource: str | None, query: views.EventQuery
    ) -> Sequence[views.EventView]:
        stack = self._stacks.found(caller, name, ident).view.identity
        return [self.view(stack)] if resource in {None, "a"} else []

    async def show(self, caller: Caller, name: str, ident: str, resource: str, event_id: str) -> views.EventView:
        stack = self._stacks.found(caller, name, ident).view.identity
        if event_id != "e1":
            raise EntityNotFound(f"The event {event_id} could not be found.")
        return self.view(stack)
