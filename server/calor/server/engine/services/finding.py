"""Finding a caller's stacks and resources; another tenant's do not exist for him."""

from calor.server.engine.services import presenting
from calor.server.errors import EntityNotFound, ResourceNotAvailable
from calor.server.identity import Caller
from calor.server.store import queries
from calor.server.store.database import Database
from calor.server.store.rows import ResourceRow, StackRow
from calor.server.store.states import Action


def missing_stack(name: str) -> EntityNotFound:
    return EntityNotFound(f"The Stack ({name}) could not be found.")


def missing_resource(name: str, stack: str) -> EntityNotFound:
    return EntityNotFound(f"The Resource ({name}) could not be found in Stack {stack}.")


class Finder:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def by_name_or_id(self, caller: Caller, name_or_id: str) -> StackRow:
        """A root by its name, any stack by its id, a nested one by its name: as in Heat, none is out of reach, and no
        nested one hides a root."""
        found = await queries.live_stack(self._database, caller.project_id, name_or_id)
        if found is None:
            found = await queries.stack(self._database, name_or_id)
        if found is None:
            found = await queries.nested_stack(self._database, caller.project_id, name_or_id)
        if found is None or not self._is_callers(caller, found):
            raise missing_stack(name_or_id)
        return found

    async def stack(self, caller: Caller, name: str, ident: str, *, deleted: bool = False) -> StackRow:
        """By name and id. A deleted one only where it may be shown."""
        found = await queries.stack(self._database, ident)
        if found is None or found.name != name or not self._is_callers(caller, found):
            raise missing_stack(f"{name}/{ident}")
        if found.deleted_at is not None and not deleted:
            raise missing_stack(f"{name}/{ident}")
        return found

    async def resource(self, stack: StackRow, name: str) -> ResourceRow:
        rows = [row for row in await queries.stack_resources(self._database, stack.id) if row.name == name]
        shown = presenting.shown_rows(rows)
        if not shown:
            raise ResourceNotAvailable(f"The Resource ({name}) could not be found in Stack {stack.name}.")
        live = [row for row in rows if row.replaced_by is None and row.action is not Action.DELETE]
        return live[-1] if live else shown[0]

    def _is_callers(self, caller: Caller, row: StackRow) -> bool:
        return row.project_id == caller.project_id or (caller.is_admin and caller.system_scope)
