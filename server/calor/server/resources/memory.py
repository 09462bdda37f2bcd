"""A `Context` in memory: what builders of types run them with, without an engine."""

import asyncio
import dataclasses
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from calor.server.cloud.door import Cloud
from calor.server.resources.base import (
    BootVerdict,
    Config,
    Configs,
    Context,
    Deployment,
    Deployments,
    Guests,
    Incarnation,
    ResourceFailed,
    ResourceType,
    Signal,
    StackFacts,
    Urls,
)
from calor.server.resources.declare import construct, described


class MemoryUrls:
    cfn = "http://192.0.2.1:8000"
    orchestration = "http://192.0.2.1:8004"
    ca_certificate: str | None = None

    def signal(self, resource_id: str) -> str:
        return f"{self.cfn}/v1/signal/{resource_id}?Signature=s"

    def wait_condition(self, resource_id: str) -> str:
        return f"{self.cfn}/v1/waitcondition/{resource_id}?Signature=s"

    def outside(self, url: str) -> str:
        return url

    def container_key(self, container: str) -> str:
        return f"key of {container}"

    def heat_signal(self, resource_name: str) -> str:
        return f"{self.orchestration}/v1/p/stacks/s/i/resources/{resource_name}/signal"


class MemoryGuests:
    def __init__(self) -> None:
        self.rearmed: list[str] = []
        self.pushed: dict[str, Mapping[str, str] | None] = {}
        self.verdicts: dict[str, BootVerdict] = {}

    async def push_to(self, resource_id: str, target: Mapping[str, str] | None) -> None:
        self.pushed[resource_id] = target

    async def rearm(self, resource_id: str) -> None:
        self.rearmed.append(resource_id)

    async def bootstrap_token(self, resource_id: str) -> str:
        return f"bootstrap of {resource_id}"

    async def ec2_pair(self, resource_id: str) -> tuple[str, str]:
        return f"access of {resource_id}", f"secret of {resource_id}"

    async def password(self, resource_id: str) -> tuple[str, str]:
        return f"user of {resource_id}", f"password of {resource_id}"

    async def boot_verdict(self, resource_id: str) -> BootVerdict:
        return self.verdicts.get(resource_id, BootVerdict(status="done"))

    def agent_file(self) -> tuple[str, str]:
        return "/agent/0.pyz", "0"


@dataclass
class MemoryConfigs:
    stored: dict[str, Config] = field(default_factory=dict)

    async def create(self, *, ident: str, name: str, group: str, config: Any, **more: Any) -> Config:
        given = {key: value for key, value in more.items() if value is not None and key != "made_of"}
        return self.stored.setdefault(ident, Config(id=ident, name=name, group=group, config=config, **given))

    async def get(self, ident: str) -> Config | None:
        return self.stored.get(ident)

    async def delete(self, ident: str) -> None:
        self.stored.pop(ident, None)


@dataclass
class MemoryDeployments:
    """A deployment put again with the same config stays as it is, as with the engine's."""

    stored: dict[str, Deployment] = field(default_factory=dict)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def coming(self, ident: str, server_id: str) -> AbstractContextManager[None]:
        return nullcontext()

    async def put(self, *, ident: str, config_id: str, **values: Any) -> Deployment:
        known = self.stored.get(ident)
        if known is None or known.config_id != config_id:
            self.stored[ident] = Deployment(id=ident, config_id=config_id, **values)
        return self.stored[ident]

    async def get(self, ident: str) -> Deployment | None:
        return self.stored.get(ident)

    async def finish(
        self, ident: str, *, status: str, status_reason: str, output_values: Mapping[str, Any]
    ) -> Deployment:
        ended = dataclasses.replace(
            self.stored[ident], status=status, status_reason=status_reason, output_values=output_values
        )
        async with self.changed:
            self.stored[ident] = ended
            self.changed.notify_all()
        return ended

    async def finished(self, ident: str) -> Deployment:
        async with self.changed:
            await self.changed.wait_for(lambda: self.stored[ident].status != "IN_PROGRESS")
        return self.stored[ident]

    async def delete(self, ident: str) -> None:
        self.stored.pop(ident, None)


@dataclass
class Workshop:
    """What the resources of one imagined stack share."""

    cloud: Cloud
    stack: StackFacts = field(
        default_factory=lambda: StackFacts(
            id=str(uuid.uuid4()), name="stack", project_id="project", user_id="user", root_id="root"
        )
    )
    options: dict[str, Any] = field(default_factory=dict)
    configs: MemoryConfigs = field(default_factory=MemoryConfigs)
    deployments: MemoryDeployments = field(default_factory=MemoryDeployments)
    guests: Guests = field(default_factory=MemoryGuests)
    urls: Urls = field(default_factory=MemoryUrls)
    mailboxes: dict[str, list[Signal]] = field(default_factory=dict)
    handles: dict[str, Incarnation] = field(default_factory=dict)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def bench(self, kind: ResourceType[Any], name: str = "thing", **metadata: Any) -> "MemoryContext":
        ident = str(uuid.uuid4())
        physical = f"{self.stack.name}-{name}-{ident[:12].replace('-', '')}"[: kind.physical_name_limit]
        row = Incarnation(id=ident, name=name, type=kind.name, physical_name=physical, metadata=metadata)
        return MemoryContext(self, kind, row)

    async def send(self, reference: str, details: Mapping[str, Any]) -> None:
        """A signal to a handle."""
        async with self.changed:
            box = self.mailboxes.setdefault(reference, [])
            box.append(Signal(number=len(box) + 1, details=details, received_at=datetime.now(UTC)))
            self.changed.notify_all()


class MemoryContext:
    """The context of one resource, with shortcuts for its life."""

    def __init__(self, workshop: Workshop, kind: ResourceType[Any], row: Incarnation) -> None:
        self.workshop = workshop
        self.kind = kind
        self._row = row
        self.cloud = workshop.cloud
        self.stack = workshop.stack
        self.configs: Configs = workshop.configs
        self.deployments: Deployments = workshop.deployments
        self.guests = workshop.guests
        self.urls = workshop.urls
        self.options: Mapping[str, Any] = workshop.options
        self.was: Any = None

    @property
    def me(self) -> Incarnation:
        return self._row

    async def remember(self, **data: Any) -> None:
        known = {**self._row.data, **data}
        self._row = dataclasses.replace(self._row, data={k: v for k, v in known.items() if v is not None})

    async def write_metadata(self, metadata: Mapping[str, Any]) -> None:
        self._row = dataclasses.replace(self._row, metadata=metadata)

    async def signals(self) -> Sequence[Signal]:
        return list(self.workshop.mailboxes.get(self._row.physical_id or "", ()))

    async def signals_of(self, reference: str) -> Sequence[Signal]:
        return list(self.workshop.mailboxes.get(reference, ()))

    def handle(self, reference: str) -> Incarnation | None:
        return self.workshop.handles.get(reference)

    async def another_signal(self, seen: int, *, of: str | None = None) -> None:
        async with self.workshop.changed:
            box = of or self._row.physical_id or ""
            await self.workshop.changed.wait_for(lambda: len(self.workshop.mailboxes.get(box, ())) > seen)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def now(self) -> datetime:
        return datetime.now(UTC)

    # --- the life of the resource --------------------------------------------------------------------------

    async def make(self, **properties: Any) -> str | None:
        """Create and wait, as the engine does. Property names with a colon are given as a map under ``more``."""
        want = self.typed(properties)
        physical_id = await self.kind.create(self, want)
        self._row = dataclasses.replace(self._row, physical_id=physical_id)
        await self.kind.settle(self, want)
        self.was = want
        return self._row.physical_id

    async def change(self, **properties: Any) -> None:
        """Update in place to these properties."""
        want = self.typed(properties)
        known = described(self.kind.props).fields
        changed = frozenset(
            name for name, field in known.items() if getattr(want, field.name) != getattr(self.was, field.name)
        )
        await self.kind.update(self, want, self.was, changed)
        self.was = want

    async def remove(self) -> None:
        await self.kind.delete(self, self.was)
        await self.kind.settle_delete(self)

    async def read(self, attribute: str) -> Any:
        return await self.kind.attribute(self, self.was, attribute)

    def crashed(self) -> None:
        """The engine died after the create went out and before the id was durable."""
        self._row = dataclasses.replace(self._row, physical_id=None, attempted=True)

    def typed(self, properties: Mapping[str, Any]) -> Any:
        problems = self.kind.validate(properties)
        if problems:
            raise ResourceFailed("; ".join(problems))
        return construct(self.kind.props, self.kind.translate(properties))


def as_context(context: MemoryContext) -> Context:
    """That it is one, checked by mypy."""
    return context
