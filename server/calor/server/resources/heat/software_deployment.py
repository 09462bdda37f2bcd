"""OS::Heat::SoftwareDeployment and OS::Heat::StructuredDeployment: a config applied to a server."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar

from calor.server.errors import BadRequest
from calor.server.resources.base import Config, Context, Deployment, ResourceFailed, ResourceType, UpdateReplace
from calor.server.resources.declare import UNORDERED, UPDATABLE, attributes
from calor.server.resources.heat import derived_config, drops
from calor.server.resources.heat.derived_config import Order, actions_of, filled_in, inputs_of
from calor.server.resources.heat.drops import Drop, ObjectDrop, QueueDrop
from calor.server.resources.heat.signals import outcome_of
from calor.server.resources.unresolved import resource_named
from calor.server.template import reveal
from calor.server.template.properties import AllowedValues, Kind, Support

ACTIONS = ("CREATE", "UPDATE", "DELETE", "SUSPEND", "RESUME")
TRANSPORTS = ("CFN_SIGNAL", "TEMP_URL_SIGNAL", "HEAT_SIGNAL", "NO_SIGNAL", "ZAQAR_SIGNAL")


SET_BY: Mapping[str, str] = {"signal_transport": "default_deployment_signal_transport"}


@dataclass(frozen=True, kw_only=True)
class DeploymentProps:
    """What a deployment and a group of them are given alike."""

    config: Annotated[str | None, UPDATABLE] = None
    input_values: Annotated[Mapping[str, Any] | None, UPDATABLE] = None
    actions: Annotated[tuple[Any, ...], UNORDERED, UPDATABLE, AllowedValues(*ACTIONS)] = ("CREATE", "UPDATE")
    name: Annotated[str | None, UPDATABLE] = None
    signal_transport: Annotated[str, AllowedValues(*TRANSPORTS)] = "CFN_SIGNAL"


@dataclass(frozen=True, kw_only=True)
class StructuredProps(DeploymentProps):
    """What those of a map config are given besides."""

    input_key: str = "get_input"
    input_values_validate: Annotated[str, AllowedValues("LAX", "STRICT")] = "LAX"


@dataclass(frozen=True, kw_only=True)
class SoftwareDeploymentProps(DeploymentProps):
    server: str


@dataclass(frozen=True, kw_only=True)
class StructuredDeploymentProps(SoftwareDeploymentProps, StructuredProps):
    """Of a server and a map config."""


P = TypeVar("P", bound=SoftwareDeploymentProps)


class Deploying(ResourceType[P]):
    """What both share. A run is numbered; its derived config's id is made of row and number, so that a call repeated
    after a crash means the same run, and each later action another."""

    support = Support(since="2014.1")
    supports = frozenset({"signal", "suspend", "resume", "check"})
    no_signal_actions: ClassVar[frozenset[str]] = frozenset()
    any_attributes = True
    needs_trust = True
    set_by: ClassVar[Mapping[str, str]] = SET_BY
    attributes = attributes(deploy_stdout=Kind.STRING, deploy_stderr=Kind.STRING, deploy_status_code=Kind.STRING)

    def deploys_to(self, mine: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        server = resource_named(mine.get("server"))
        return () if server is None else (("server", server),)

    def needs_services(self, properties: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        return drops.needed(properties)

    def content(self, want: P, config: Any, inputs: Mapping[str, Any]) -> Any:
        """The derived config's own content."""
        return config

    async def create(self, at: Context, want: P) -> str:
        if not await self._start(at, want, "CREATE", 0):
            await at.remember(idle=True)
        return at.me.id

    async def settle(self, at: Context, want: P) -> None:
        await self._finished(at, want, "CREATE")

    async def update(self, at: Context, want: P, was: P, changed: frozenset[str]) -> None:
        await self._refuse_input_change(at, want)
        await self._run(at, want, "UPDATE")

    async def check(self, at: Context, was: P) -> None:
        """Raises `ResourceFailed` where a user has deleted what a run of this resource has made. Heat checks none."""
        if at.me.physical_id != at.me.id or await at.deployments.get(at.me.id) is not None:
            return
        config = await at.configs.get(was.config) if was.config else None
        began = not at.me.data.get("idle") and "CREATE" in actions_of(config, was.actions)
        if began or self._number(at) > 1:
            raise ResourceFailed(f"The software deployment {at.me.id} is not there any more: somebody has deleted it.")

    async def suspend(self, at: Context, was: P) -> None:
        await self._run(at, was, "SUSPEND")

    async def resume(self, at: Context, was: P) -> None:
        await self._run(at, was, "RESUME")

    async def delete(self, at: Context, was: P | None) -> None:
        if was is not None and at.me.physical_id and await self._start(at, was, "DELETE", self._number(at)):
            await at.remember(leaving=was.signal_transport)

    async def settle_delete(self, at: Context) -> None:
        if at.me.data.get("leaving") not in (None, "NO_SIGNAL"):
            try:
                await self._end(at, str(at.me.data["leaving"]), self._number(at))
            except ResourceFailed:
                if (found := await at.deployments.get(at.me.id)) and found.status == "IN_PROGRESS":
                    await self._forget(at)  # nobody answers: there is nothing to try again
                raise
        await self._forget(at)

    def aws_signal(self, unique_id: str, succeeded: bool) -> Mapping[str, Any]:
        return {"deploy_status_code": 0 if succeeded else 1}

    async def signal(self, at: Context, details: Mapping[str, Any]) -> str:
        found = await at.deployments.get(at.me.id)
        if found is None:
            return "signal received before the deployment began; it counts once it has"
        if found.status != "IN_PROGRESS":
            return "deployment is not in progress; the signal changes nothing"
        return await self._take(at, found, details)

    async def _take(self, at: Context, found: Deployment, details: Mapping[str, Any]) -> str:
        config = await at.configs.get(found.config_id)
        outcome = outcome_of(details, config.outputs if config else ())
        await at.deployments.finish(
            at.me.id, status=outcome.status, status_reason=outcome.reason, output_values=outcome.outputs
        )
        if outcome.status == "COMPLETE":
            return "deployment succeeded"
        return f"deployment failed ({details.get('deploy_status_code')})"

    async def attribute(self, at: Context, was: P, name: str) -> Any:
        """Raises `BadRequest` for what is no output, as in Heat: there would never be anything to read."""
        found = await at.deployments.get(at.me.id)
        if found is not None and name == "show":
            return {"id": found.id, "status": found.status, "output_values": dict(found.output_values)}
        if found is not None and name in found.output_values:
            return found.output_values[name]
        config = await at.configs.get(was.config) if was.config else None
        declared = [str(one["name"]) for one in config.outputs] if config is not None else []
        if (was.config is None or config is not None) and name not in (*declared, *self.attributes, "show"):
            known = ", ".join(sorted((*declared, *self.attributes)))
            raise BadRequest(f"The deployment {at.me.name!r} has no attribute {name!r}; its outputs are {known}.")
        return None

    # --- one run -----------------------------------------------------------------------------------------

    async def _run(self, at: Context, want: P, action: str) -> None:
        if await self._start(at, want, action, self._number(at)):
            await self._finished(at, want, action)

    async def _start(self, at: Context, want: P, action: str, number: int) -> bool:
        """Make the run visible to the server, together with others that became ready when this one did. False when
        there is nothing to do for this action."""
        with at.deployments.coming(at.me.id, want.server):
            return await self._put(at, want, action, number)

    async def _put(self, at: Context, want: P, action: str, number: int) -> bool:
        config = await at.configs.get(want.config) if want.config else None
        if want.config and config is None and action != "DELETE":
            raise ResourceFailed(f"The software config {want.config} could not be found.")
        if action not in actions_of(config, want.actions):
            return False
        order = Order(
            server=want.server,
            action=action,
            transport=want.signal_transport,
            name=want.name,
            values=want.input_values or {},
            drop=await self._opened(at, want.signal_transport, number),
        )
        derived = await self._derive(at, want, config, order, number)
        waits = want.signal_transport != "NO_SIGNAL"
        await at.deployments.put(
            ident=at.me.id,
            server_id=want.server,
            config_id=derived.id,
            action=action,
            input_values=want.input_values or {},
            status="IN_PROGRESS" if waits else "COMPLETE",
            status_reason="Deploy data available" if waits else "Not waiting for outputs signal",
        )
        if waits and action == "CREATE":
            await self._take_early(at)
        return True

    async def _opened(self, at: Context, transport: str, number: int) -> Drop | None:
        drop = drop_of(at, transport, number)
        if drop is not None:
            await at.remember(drops=transport)
            await drop.open(at)
        return drop

    async def _take_early(self, at: Context) -> None:
        """A signal may be faster than the deployment that it is for (F044)."""
        for early in (await at.signals())[:1]:
            found = await at.deployments.get(at.me.id)
            if found is not None and found.status == "IN_PROGRESS":
                await self._take(at, found, early.details)

    async def _derive(self, at: Context, want: P, config: Config | None, order: Order, number: int) -> Config:
        inputs = await inputs_of(at, config, order)
        values = {one["name"]: one.get("value") for one in inputs}
        return await at.configs.create(
            ident=derived_id(at.me.id, number),
            name=order.name or (config.name if config else "") or at.me.physical_name,
            group=config.group if config else derived_config.UNGROUPED,
            config=self.content(want, config.config if config else None, values),
            inputs=inputs,
            outputs=config.outputs if config else (),
            options=config.options if config else None,
            made_of=[config] if config else (),
        )

    async def _finished(self, at: Context, want: P, action: str) -> None:
        found = await at.deployments.get(at.me.id)
        if found is None:
            return  # the action asks for nothing
        number = 0 if action == "CREATE" else self._number(at)
        if want.signal_transport != "NO_SIGNAL":
            await self._end(at, want.signal_transport, number)
        if action != "CREATE":
            await at.remember(runs=number)
            await at.configs.delete(derived_id(at.me.id, number - 1))

    async def _end(self, at: Context, transport: str, number: int) -> None:
        drop = drop_of(at, transport, number)
        ended = await (at.deployments.finished(at.me.id) if drop is None else self._ended_by(at, drop))
        if ended.status == "FAILED":
            if ended.action != "CREATE":
                await at.remember(runs=self._number(at))
            raise ResourceFailed(f"Deployment to server failed: {ended.status_reason}")

    async def _ended_by(self, at: Context, drop: Drop) -> Deployment:
        """The end, whichever way it is told: a guest that can call us does so whatever its transport."""
        finished = asyncio.ensure_future(at.deployments.finished(at.me.id))
        looking = asyncio.ensure_future(self._look(at, drop))
        try:
            await asyncio.wait({finished, looking}, return_when=asyncio.FIRST_COMPLETED)
            if looking.done():
                looking.result()  # raises what the cloud said
            return await finished
        finally:
            for task in (finished, looking):
                task.cancel()
            await asyncio.gather(finished, looking, return_exceptions=True)

    async def _look(self, at: Context, drop: Drop) -> None:
        """Return once something was left there, and it has been taken."""
        left = await drop.arrived(at, {}, fresh=True)
        while not left:
            left = await drop.arrived(at, {}, fresh=False)
        found = await at.deployments.get(at.me.id)
        if found is not None and found.status == "IN_PROGRESS":
            await self._take(at, found, next(iter(left.values())))

    def _number(self, at: Context) -> int:
        """The number of the run that comes next, or that a crash interrupted."""
        return int(at.me.data.get("runs", 0)) + 1

    async def _refuse_input_change(self, at: Context, want: P) -> None:
        """As in Heat, what the last run was given is compared: a default counts, an input that is new does not."""
        config = await at.configs.get(want.config) if want.config else None
        last = await at.configs.get(derived_id(at.me.id, self._number(at) - 1))
        before = {one["name"]: one.get("value") for one in (last.inputs if last else ())}
        for one in config.inputs if config else ():
            name = one["name"]
            value = (want.input_values or {}).get(name, one.get("default"))
            if one.get("replace_on_change") and name in before and reveal(before[name]) != reveal(value):
                raise UpdateReplace(f"the input {name} changes and replace_on_change is set")

    async def _forget(self, at: Context) -> None:
        await at.deployments.delete(at.me.id)
        await self._close_drops(at)
        for number in range(self._number(at) + 1):
            await at.configs.delete(derived_id(at.me.id, number))

    async def _close_drops(self, at: Context) -> None:
        transport = at.me.data.get("drops")
        if transport == "TEMP_URL_SIGNAL":
            await ObjectDrop(at.stack.id, at.me.physical_name).close(at)  # of all runs: their names begin so
        elif transport is not None:
            for number in range(self._number(at) + 1):
                await QueueDrop(queue_of(at, number)).close(at)


def drop_of(at: Context, transport: str, number: int) -> Drop | None:
    """Where the guest leaves the result of one run; None where it calls us. Another run has another place, so that
    what comes late is never taken for it."""
    if transport == "TEMP_URL_SIGNAL":
        return ObjectDrop(at.stack.id, f"{at.me.physical_name}-{number}")
    return QueueDrop(queue_of(at, number)) if transport == "ZAQAR_SIGNAL" else None


def queue_of(at: Context, number: int) -> str:
    """Begins with the id of the row: by that its guest may use it (`api.messaging`)."""
    return f"{at.me.id}-{number}"


def derived_id(row: str, number: int) -> str:
    return str(uuid.uuid5(uuid.UUID(row), f"derived config {number}"))


class SoftwareDeployment(Deploying[SoftwareDeploymentProps]):
    """A text config, applied by a hook."""

    name, props = "OS::Heat::SoftwareDeployment", SoftwareDeploymentProps


class StructuredDeployment(Deploying[StructuredDeploymentProps]):
    """A map config, whose places for inputs are filled in here."""

    name, props = "OS::Heat::StructuredDeployment", StructuredDeploymentProps

    def content(self, want: StructuredDeploymentProps, config: Any, inputs: Mapping[str, Any]) -> Any:
        return filled_in(config, want.input_key, inputs, strict=want.input_values_validate == "STRICT")
