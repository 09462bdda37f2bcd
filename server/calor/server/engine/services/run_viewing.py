"""Deployments and runs as views of their progress."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from calor.server.engine.contract.progress_views import RunState, RunView, StackPlace
from calor.server.engine.guests.contacts import Contact
from calor.server.engine.guests.masking import Masker
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.services import run_states
from calor.server.engine.services.presenting import HIDDEN
from calor.server.store import guest_queries, queries
from calor.server.store.rows import DeploymentRow, GuestRow, ResourceRow, StackRow

FORGOTTEN = Contact()


@dataclass
class Surroundings:
    """What the views refer to: resources by physical id, guests by their server's row, stacks by id; ``holders`` are
    the resources that the stacks below ``top`` are, by the stack's id."""

    resources: dict[str, ResourceRow] = field(default_factory=dict)
    guests: dict[str, GuestRow] = field(default_factory=dict)
    stacks: dict[str, StackRow] = field(default_factory=dict)
    holders: dict[str, ResourceRow] = field(default_factory=dict)
    top: str | None = None

    def place(self, resource: ResourceRow | None, name: str) -> StackPlace:
        if resource is None:
            return StackPlace(stack_id=None, stack_name="", resource_name=name)
        stack = self.stacks.get(resource.stack_id)
        return StackPlace(
            stack_id=resource.stack_id,
            stack_name=stack.name if stack else "",
            resource_name=resource.name,
            path=self._path(resource),
        )

    def _path(self, resource: ResourceRow) -> str:
        """From the stack that was asked for; a resource has the same name in each member of a group."""
        names, at = [resource.name], resource.stack_id
        while at != self.top:
            holder = self.holders.get(at)
            if holder is None:
                return ""
            names.append(holder.name)
            at = holder.stack_id
        return "/".join(reversed(names))


class RunViewer:
    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def one(self, row: DeploymentRow) -> RunView:
        around = Surroundings()
        for physical_id in (row.source_id or row.id, row.server_id):
            found = await queries.resource_of_deployment(self._tools.database, row.project_id, physical_id)
            if found is None:
                continue
            around.resources[physical_id] = found
            stack = await queries.stack(self._tools.database, found.stack_id)
            guest = await guest_queries.guest(self._tools.database, found.id)
            around.stacks |= {found.stack_id: stack} if stack else {}
            around.guests |= {found.id: guest} if guest else {}
        return (await self.all([row], around))[0]

    async def all(self, rows: Sequence[DeploymentRow], around: Surroundings) -> list[RunView]:
        ended = [row.run_id for row in rows if row.status != "IN_PROGRESS"]
        outcomes = await guest_queries.run_outcomes(self._tools.database, ended) if ended else {}
        now = self._tools.clock.now()
        return [await self._view(row, around, outcomes.get(row.run_id), now) for row in rows]

    async def _view(self, row: DeploymentRow, around: Surroundings, outcome: str | None, now: datetime) -> RunView:
        server = around.resources.get(row.server_id)
        contact = self.contact(server, around)
        state = run_states.state_of(row, outcome, contact, now)
        running = run_states.running_of(row, contact) if state is RunState.RUNNING else {}
        doing = str(running.get("doing") or "")
        masker = await self._tools.secrets.of(row)
        printed, at = self._printed(row, running, contact)
        value = self._tools.deployments.value(row)
        return RunView(
            id=row.id,
            run_id=row.run_id,
            source_id=row.source_id,
            place=around.place(around.resources.get(row.source_id or row.id), row.name),
            server_id=row.server_id,
            server_name=server.name if server is not None else row.server_id,
            name=row.name,
            action=row.action,
            status=row.status,
            status_reason=row.status_reason,
            state=state,
            step=doing or str(running.get("step") or ""),
            percent=run_states.percent_of(doing),
            last_output=printed,
            last_output_at=at,
            asked_by=row.asked_by,
            input_values=hidden(value.input_values, masker),
            output_values=hidden(value.output_values, masker),
            created_at=row.created_at,
            updated_at=row.updated_at,
        )

    def contact(self, server: ResourceRow | None, around: Surroundings) -> Contact:
        return FORGOTTEN if server is None else self._tools.contacts.of(server.id, around.guests.get(server.id))

    def _printed(self, row: DeploymentRow, running: Mapping[str, Any], contact: Contact) -> tuple[str, datetime | None]:
        """The newest of what was streamed and of what the last heartbeat held."""
        streamed = self._tools.outputs.last(row.run_id)
        if streamed is not None:
            return streamed
        tail = str(running.get("tail") or "")
        return tail, contact.at if tail else None


def hidden(values: Mapping[str, Any], masker: Masker) -> Mapping[str, Any]:
    """Values without the secrets that are known to be in them."""
    return {name: _hidden(value, masker) for name, value in values.items()}


def _hidden(value: Any, masker: Masker) -> Any:
    if isinstance(value, str):
        return masker.text(value)
    if isinstance(value, Mapping):
        return {key: _hidden(item, masker) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(item, masker) for item in value]
    return value if value is None or isinstance(value, bool | int | float) else HIDDEN


def holders_of(rows: Iterable[ResourceRow]) -> dict[str, ResourceRow]:
    return {row.child_id: row for row in rows if row.child_id is not None}


def by_physical_id(rows: Iterable[ResourceRow]) -> dict[str, ResourceRow]:
    """Those that have none yet are there by their own id: a deployment's will be that, and it may run already."""
    return {row.physical_id or row.id: row for row in rows}
