"""Fetching the attributes that somebody refers to, so that they can be stored and served without the cloud."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from calor.server.cloud.errors import CloudError
from calor.server.engine.reconcile.bench import Bench
from calor.server.engine.reconcile.context import ResourceContext
from calor.server.engine.revision.kinds import typed
from calor.server.engine.revision.scope import key_of
from calor.server.errors import BadRequest
from calor.server.resources.base import ReferenceId, ResourceFailed, ResourceType
from calor.server.resources.declare import attributes_of
from calor.server.store.rows import ResourceRow

log = logging.getLogger(__name__)


async def refresh(bench: Bench, name: str) -> None:
    """Fetch and store again what others refer to of a resource that stands."""
    kind, row = bench.blueprint.kinds.get(name), bench.current.get(name)
    if kind is None or row is None or kind.pure or row.id not in bench.tree.rows:
        return
    row = bench.tree.rows[row.id]
    want = typed(kind, bench.tools.sealing.value(row.properties or row.pending) or {})
    paths = bench.blueprint.uses_of(name).attributes
    found = bench.tools.sealing.text(await fetched(bench, kind, bench.context(row, kind), row, want, paths))
    if found != row.attributes:
        bench.current[name] = await bench.tree.change(row.id, attributes=found)


async def refresh_moved(bench: Bench, name: str) -> None:
    """Before ``name`` reads the attributes of others: fetch again those that move by themselves (``cached`` is false)
    where something else was done to the resource since, such as an attachment or an association."""
    for used in sorted(bench.moved & bench.blueprint.graph.requires[name]):
        kind = bench.blueprint.kinds[used]
        known = attributes_of(kind)
        paths = bench.blueprint.uses_of(used).attributes
        if kind.is_nested or any(not path or (path[0] in known and not known[path[0]].cached) for path in paths):
            bench.moved.discard(used)
            await refresh(bench, used)


async def fetched(
    bench: Bench,
    kind: ResourceType[Any],
    at: ResourceContext,
    row: ResourceRow,
    want: Any,
    paths: Iterable[tuple[Any, ...]],
) -> Mapping[str, Any]:
    """``reference`` where the type has its own, ``names`` by attribute, ``paths`` of nested types by path. Who refers
    to an attribute that cannot be had sees None; of one that there cannot be (a member that a group does not have, an
    output that no config declares) ``faults`` says why, by path, to whoever asks for it."""
    names: dict[str, Any] = {}
    by_path: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for path in paths:
        try:
            if kind.is_nested:
                answer = bench.children.attribute(bench, row, kind, at, want, path)
                by_path[key_of(path)] = await _tried(row, path, answer)
            else:
                await _add_named(names, kind, at, row, want, path)
        except BadRequest as error:
            faults[key_of(path)] = error.detail
    found: dict[str, Any] = {}
    if kind.reference_id is ReferenceId.OWN:
        found["reference"] = await kind.reference(at)
    if names:
        found["names"] = names
    if by_path:
        found["paths"] = by_path
    if faults:
        found["faults"] = faults
    return found


async def _add_named(
    names: dict[str, Any],
    kind: ResourceType[Any],
    at: ResourceContext,
    row: ResourceRow,
    want: Any,
    path: tuple[Any, ...],
) -> None:
    """The attribute that a path begins with, or all, unless they are there already."""
    for name in [str(path[0])] if path else list(kind.attributes):
        if name not in names and (kind.any_attributes or name in attributes_of(kind)):
            names[name] = await _tried(row, path, kind.attribute(at, want, name))


async def _tried(row: ResourceRow, path: tuple[Any, ...], answer: Any) -> Any:
    try:
        return await answer
    except (CloudError, ResourceFailed) as error:
        log.warning(
            "an attribute could not be read",
            extra={"resource": row.name, "attribute": list(path), "error": str(error)},
        )
        return None
