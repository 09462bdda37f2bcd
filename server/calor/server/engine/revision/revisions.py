"""Revisions: from a request or a stored row to a blueprint, and back to a row."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.revision.blueprint import Blueprint, draw
from calor.server.engine.revision.costs import is_heavy
from calor.server.errors import Problem
from calor.server.resources.base import Registry
from calor.server.store import queries
from calor.server.store.database import Database
from calor.server.store.rows import RevisionRow, StackRow
from calor.server.template import Environment, Limits, Pseudo, Template, bind, parse_environment, parse_template, reveal
from calor.server.template.files import NotText

KEPT = 64
HEAVY = 100_000
STORED = Limits(size=1 << 30)  # what is stored was accepted once, whatever the limit is now
SHOWN_PSEUDO = frozenset({"OS::project_id", "OS::stack_id", "OS::stack_name"})
EMPTY = {"heat_template_version": "2021-04-16"}


class Blueprints:
    """Blueprints of revisions; the last used ones are kept."""

    def __init__(self, database: Database, sealing: Sealing, registry: Registry) -> None:
        self._database = database
        self._sealing = sealing
        self._registry = registry
        self._kept: OrderedDict[str, Blueprint] = OrderedDict()

    async def of(self, stack: StackRow, revision_id: str | None, facade: Mapping[str, Any] | None = None) -> Blueprint:
        """The blueprint of a stored revision; an empty one for none. Raises `InvalidInput`."""
        if revision_id is None:
            return self.draw(stack, parse_template(EMPTY), Environment(), {}, {}, facade)
        kept = self._kept.get(revision_id)
        if kept is not None:
            self._kept.move_to_end(revision_id)
            return kept
        row = await self.row(revision_id)
        text, files = self._sealing.value(row.template), await self.files(row)

        def work() -> Blueprint:
            return self.draw(
                stack,
                parse_template(text, file=row.template_file or "template", limits=STORED),
                replace(
                    parse_environment(self._sealing.value(row.environment)), allowed=tuple(row.allow_replace or ())
                ),
                self._sealing.value(row.parameters),
                files,
                facade,
                stored=True,
            )

        blueprint = await asyncio.to_thread(work) if is_heavy([text], HEAVY) else work()
        self.keep(revision_id, blueprint)
        return blueprint

    def draw(
        self,
        stack: StackRow,
        template: Template,
        environment: Environment,
        given: Mapping[str, Any],
        files: Mapping[str, str],
        facade: Mapping[str, Any] | None = None,
        unknown: list[Problem] | None = None,
        *,
        allow_missing: bool = False,
        stored: bool = False,
        faults: list[Problem] | None = None,
    ) -> Blueprint:
        """See `blueprint.draw` and `template.bind`."""
        pseudo = Pseudo(
            stack_id=stack.id,
            stack_name=stack.name,
            project_id=stack.project_id,
            region=stack.region,
            facade=facade,
        )
        model = bind(
            template,
            environment,
            given,
            pseudo=pseudo,
            files=files,
            allow_missing=allow_missing,
            later=allow_missing,
            stored=stored,
            faults=faults,
        )
        return draw(model, self._registry, files, unknown)

    def keep(self, revision_id: str, blueprint: Blueprint) -> None:
        self._kept[revision_id] = blueprint
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    async def row(self, revision_id: str) -> RevisionRow:
        row = await queries.revision(self._database, revision_id)
        if row is None:
            raise LookupError(f"the revision {revision_id} is not stored")
        return row

    async def files(self, row: RevisionRow) -> Mapping[str, str]:
        if row.files is None and row.files_of is not None:
            row = await self.row(row.files_of)
        return json.loads(row.files) if row.files else {}

    def stored(
        self,
        ident: str,
        stack_id: str,
        template: Mapping[str, Any] | str,
        given: Mapping[str, Any],
        blueprint: Blueprint,
        at: datetime,
        *,
        file: str = "",
        files_of: str | None = None,
    ) -> RevisionRow:
        declared = blueprint.model.template.parameters.values()
        has_secret = any(one.hidden and one.has_default for one in declared)
        return RevisionRow(
            id=ident,
            stack_id=stack_id,
            template=self._sealing.secret(template) if has_secret else self._sealing.text(template),
            template_file=file,
            files=None
            if files_of is not None
            else json.dumps({name: text for name, text in blueprint.files.items() if not isinstance(text, NotText)}),
            files_of=files_of,
            environment=self._sealing.secret(reveal(blueprint.model.environment.raw())),
            parameters=self._sealing.secret(dict(given)),
            shown={
                name: parameter.shown
                for name, parameter in blueprint.model.parameters.items()
                if parameter.schema is not None or name in SHOWN_PSEUDO
            },
            allow_replace=list(blueprint.model.environment.allowed) or None,
            created_at=at,
        )
