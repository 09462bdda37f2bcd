"""The id that binds a creation or an update to the plan that was seen: a mark of all that the plan rests on. Nothing is
stored. It is keyed with what only the server knows, since parameters may be secrets that could be guessed."""

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from calor.server.engine.revision.requests import Wish
from calor.server.errors import EntityNotFound, PlanOutdated
from calor.server.identity import Caller, UrlSigner
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


def of_update(signer: UrlSigner, stack: StackRow, rows: Iterable[ResourceRow], wish: Wish) -> str:
    """Another one when the stack, a row of its tree, or the request is another."""
    return _digest(
        signer,
        {
            "stack": [stack.id, stack.revision_id, stack.action, stack.status, stack.started_at],
            "rows": sorted([getattr(row, name) for name in _OF_ROW] for row in rows),
            **_asked(wish),
        },
    )


def of_creation(signer: UrlSigner, caller: Caller, name: str, wish: Wish) -> str:
    """Another one for another project, name or request; whether the name is still free is for who creates."""
    return _digest(signer, {"project": caller.project_id, "name": name, **_asked(wish)})


def check(asked: str, known: str, name: str) -> None:
    """Raises `PlanOutdated` unless the id that was ``asked`` is that of now; `EntityNotFound` for what cannot be the
    id of any plan. No id asks for nothing."""
    if asked and not _ID.fullmatch(asked):
        raise EntityNotFound(f"There is no plan {asked!r}. Make one: calor stack plan.")
    if asked and not hmac.compare_digest(asked.encode(), known.encode()):
        raise PlanOutdated(
            f"The stack {name!r}, its resources, or what is asked of it have changed since the plan {asked!r} "
            "was made. Make a new plan."
        )


def _asked(wish: Wish) -> Mapping[str, Any]:
    return {
        "template": wish.source if isinstance(wish.source, str) else plain(wish.source),
        "environment": reveal(wish.environment.raw()),
        "allow_replace": sorted(wish.environment.allowed),
        "parameters": reveal(wish.given),
        "files": {name: str(text) for name, text in wish.files.items()},
    }


def _digest(signer: UrlSigner, facts: Mapping[str, Any]) -> str:
    text = json.dumps(mask(facts), sort_keys=True, default=str)
    return hmac.new(signer.secret("plan").encode(), text.encode(), hashlib.sha256).hexdigest()[:32]
