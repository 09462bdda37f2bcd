"""The service of runs: deployments ended before their time, and configs run on demand (F192)."""

import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from calor.server.engine.contract.progress_views import RunView
from calor.server.engine.guests.deployments import IN_PROGRESS
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.services.run_viewing import RunViewer
from calor.server.engine.services.software import NotFound
from calor.server.errors import BadRequest, Conflict
from calor.server.identity import Caller
from calor.server.resources.base import Config
from calor.server.store import guest_queries
from calor.server.store.guest_models import SoftwareConfig, SoftwareDeployment
from calor.server.store.rows import DeploymentRow
from calor.server.store.writes import Remove, Write
from calor.server.template.nearest import did_you_mean

log = logging.getLogger(__name__)

QUEUE, REFUSE = "queue", "refuse"
SELDOM = timedelta(seconds=60)
KEPT = 50
"""Ended runs on demand of one deployment that are kept."""
ANSWERING = frozenset(
    {"deploy_signal_id", "deploy_signal_verb", "deploy_password", "deploy_user_id", "deploy_username"}
)
"""Inputs by which a run would answer for the deployment it is of."""


class RunService:
    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._viewer = RunViewer(tools)
        self._cancelling = False
        self._look_at = tools.clock.now() + SELDOM

    async def cancel(self, caller: Caller, ident: str) -> RunView:
        row = await self._found(caller, ident)
        if row.status != IN_PROGRESS:
            raise Conflict(f"The deployment {ident} is {row.status}, not {IN_PROGRESS}: there is nothing to cancel.")
        if row.cancelled_at is None:
            row = await self._tools.deployments.cancel(row, caller.user_name or caller.user_id)
            self._cancelling = True
        if not await self._may_confirm(row):
            row = await self._end(row, "")
        return await self._viewer.one(row)

    async def ask(self, caller: Caller, ident: str, body: Mapping[str, Any]) -> RunView:
        source = await self._found(caller, ident)
        policy, values = body.get("policy", QUEUE), body.get("input_values") or {}
        if policy not in (QUEUE, REFUSE):
            raise BadRequest(f"'policy' must be {QUEUE} or {REFUSE}, not {policy!r}.")
        if not isinstance(values, Mapping):
            raise BadRequest("'input_values' must be a map.")
        if source.source_id is not None:
            raise BadRequest(f"{ident} is itself a run on demand, of the deployment {source.source_id}.")
        await self._check_agent(source)
        config = await self._tools.configs.get(caller.project_id, source.config_id)
        if config is None:
            raise Conflict(f"The config of the deployment {ident} is not there any more.")
        _check_inputs(config, values)
        action = chosen_action(config, body.get("action"), source.action)
        runs = await guest_queries.runs_of(self._tools.database, ident)
        if policy == REFUSE:
            _refuse_beside(source, runs, action)
        await self._prune(source, runs)
        return await self._viewer.one(await self._asked(caller, source, config, action, values))

    async def list(self, caller: Caller, ident: str) -> Sequence[RunView]:
        await self._found(caller, ident)
        rows = await guest_queries.runs_of(self._tools.database, ident)
        return [await self._viewer.one(row) for row in rows]

    async def show(self, caller: Caller, ident: str, run: str) -> RunView:
        row = await self._found(caller, run)
        if ident not in (row.source_id, row.id):
            raise NotFound(f"Run {run} of the deployment {ident} not found")
        return await self._viewer.one(row)

    async def end_overdue(self) -> None:
        """End the cancelled runs of which no guest has said that they ended. Where this process has cancelled none,
        it looks seldom: another one may have died."""
        now, patience = self._tools.clock.now(), self._tools.settings.cancel_patience
        if not self._cancelling and now < self._look_at:
            return
        self._look_at = now + SELDOM
        rows = await guest_queries.cancelled_before(self._tools.database, now)
        for row in rows:
            if row.cancelled_at is not None and now - row.cancelled_at >= patience:
                await self._end(row, f"; its guest did not confirm within {patience.seconds} s")
        self._cancelling = bool(rows)

    async def _end(self, row: DeploymentRow, more: str) -> DeploymentRow:
        log.info("a cancelled run is ended without its guest", extra={"deployment": row.id})
        reason = f"cancelled by {row.cancelled_by}{more}"
        return await self._tools.deployments.finish(row, status="FAILED", status_reason=reason, output_values={})

    async def _may_confirm(self, row: DeploymentRow) -> bool:
        server, guest = await self._tools.deployments.guest_of(row)
        if server is None or guest is None or guest.secret_hash is None:
            return False
        contact = self._tools.contacts.of(server.id, guest)
        return contact.at is not None and not contact.is_unreachable(self._tools.clock.now())

    async def _check_agent(self, source: DeploymentRow) -> None:
        server, guest = await self._tools.deployments.guest_of(source)
        if server is None or guest is None or guest.secret_hash is None:
            name = source.server_id if server is None else server.name
            raise Conflict(
                f"Calor's agent does not run on the server {name}: only it runs configs on demand. "
                "The server needs user_data_format SOFTWARE_CONFIG and an image without another agent."
            )

    async def _asked(
        self, caller: Caller, source: DeploymentRow, config: Config, action: str, values: Mapping[str, Any]
    ) -> DeploymentRow:
        ident = str(uuid.uuid4())
        asked = replace(config, id=str(uuid.uuid4()), inputs=_inputs(config, action, values))
        derived = await self._tools.configs.put(caller.project_id, asked)
        known = self._tools.deployments.value(source)
        return await self._tools.deployments.put(
            caller.project_id,
            ident=ident,
            server_id=source.server_id,
            config_id=derived.id,
            action=action,
            input_values={**known.input_values, **values},
            status=IN_PROGRESS,
            status_reason="Asked for on demand",
            stack_id=source.stack_id,
            source_id=source.id,
            asked_by=(caller.user_name or caller.user_id)[:255],
        )

    async def _prune(self, source: DeploymentRow, runs: Sequence[DeploymentRow]) -> None:
        ended = [run for run in runs if run.status != IN_PROGRESS]
        writes: list[Write] = []
        for run in ended[: max(0, len(ended) - KEPT + 1)]:
            writes += [Remove(SoftwareDeployment, {"id": run.id}), Remove(SoftwareConfig, {"id": run.config_id})]
        if writes:
            await self._tools.journal.commit(writes)

    async def _found(self, caller: Caller, ident: str) -> DeploymentRow:
        row = await self._tools.deployments.row(ident)
        if row is None or row.project_id != caller.project_id:
            raise NotFound(f"Deployment with id {ident} not found")
        return row


def chosen_action(config: Config, wanted: Any, last: str) -> str:
    """The action to run: of a component one that its configs name. Raises `BadRequest`."""
    if wanted is not None and (not isinstance(wanted, str) or not wanted):
        raise BadRequest("'action' must be a text.")
    action = str(wanted or last)
    if config.group != "component":
        return action
    parts = _parts(config.config)
    known = sorted({str(one) for part in parts for one in part.get("actions") or ("CREATE", "UPDATE")})
    if action not in known:
        raise BadRequest(f"The component has no config for the action {action}; it has {', '.join(known) or 'none'}.")
    return action


def _check_inputs(config: Config, values: Mapping[str, Any]) -> None:
    """Raises `BadRequest`: a value for an input that the config does not have would be read by nothing."""
    known = [str(one["name"]) for one in config.inputs]
    wrong = [f"{name!r}{did_you_mean(name, known)}" for name in values if name not in known]
    if wrong:
        own = ", ".join(sorted(name for name in known if not name.startswith("deploy_"))) or "none"
        raise BadRequest(f"The config has no input {', '.join(wrong)}. Its inputs are: {own}.")


def _parts(content: Any) -> Sequence[Mapping[str, Any]]:
    """The configs of a component, which is a map or its JSON text."""
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except ValueError as exc:
            raise BadRequest(f"The component is no JSON: {exc}.") from exc
    return content.get("configs") or () if isinstance(content, Mapping) else ()


def _inputs(config: Config, action: str, values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    given = {**values, "deploy_action": action, "deploy_signal_transport": "NO_SIGNAL"}
    known = [{**one, "value": given.get(one["name"], one.get("value"))} for one in config.inputs]
    names = {one["name"] for one in known}
    more = [{"name": name, "type": "String", "value": value} for name, value in given.items() if name not in names]
    return [one for one in [*known, *more] if one["name"] not in ANSWERING]


def _refuse_beside(source: DeploymentRow, runs: Sequence[DeploymentRow], action: str) -> None:
    busy = next((one for one in (source, *runs) if one.status == IN_PROGRESS and one.action == action), None)
    if busy is not None:
        raise Conflict(f"{action} runs or waits already: {busy.id} is {busy.status}. Ask with the policy {QUEUE}.")
