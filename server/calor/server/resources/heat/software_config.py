"""OS::Heat::{SoftwareConfig, StructuredConfig, SoftwareComponent, CloudConfig, MultipartMime}: stored configs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, TypeVar

import yaml

from calor.server.resources.base import Config, Context, ResourceFailed, ResourceType
from calor.server.resources.declare import Since, plain
from calor.server.resources.heat.multipart import multipart
from calor.server.template.properties import AllowedValues, AttributeSchema, Kind, Length, Support

P = TypeVar("P")

IO_TYPES = ("String", "Number", "CommaDelimitedList", "Json", "Boolean")
UNGROUPED = "Heat::Ungrouped"


@dataclass(frozen=True, kw_only=True)
class Input:
    name: str
    description: str | None = None
    type: Annotated[str, AllowedValues(*IO_TYPES)] = "String"
    default: Any = None
    replace_on_change: bool = False


@dataclass(frozen=True, kw_only=True)
class Output:
    name: str
    description: str | None = None
    type: Annotated[str, AllowedValues(*IO_TYPES)] = "String"
    error_output: bool = False


@dataclass(frozen=True, kw_only=True)
class SoftwareConfigProps:
    group: str = UNGROUPED
    config: str | None = None
    options: Mapping[str, Any] | None = None
    inputs: tuple[Input, ...] | None = None
    outputs: tuple[Output, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class StructuredConfigProps:
    group: str = UNGROUPED
    config: Mapping[str, Any] | None = None
    options: Mapping[str, Any] | None = None
    inputs: tuple[Input, ...] | None = None
    outputs: tuple[Output, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class ComponentConfig:
    tool: str
    config: str | None = None
    actions: Annotated[tuple[str, ...], Length(min=1)] = ("CREATE", "UPDATE")


@dataclass(frozen=True, kw_only=True)
class SoftwareComponentProps:
    configs: Annotated[tuple[ComponentConfig, ...], Length(min=1)]
    options: Mapping[str, Any] | None = None
    inputs: tuple[Input, ...] | None = None
    outputs: tuple[Output, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class CloudConfigProps:
    cloud_config: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Part:
    config: str
    filename: str | None = None
    type: Annotated[str, AllowedValues("text", "multipart")] = "text"
    subtype: str | None = None


@dataclass(frozen=True, kw_only=True)
class MultipartMimeProps:
    parts: tuple[Part, ...] = field(default_factory=tuple)
    group: Annotated[str, Since("14.0.0")] = UNGROUPED


def _shown(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """An input as Heat keeps it: ``replace_on_change`` only where it is true."""
    return {key: value for key, value in given.items() if key != "replace_on_change" or value}


class StoredConfig(ResourceType[P]):
    """What the config types share: the row's id is the config's id, so a second create finds the first's."""

    pure = True
    support = Support(since="2014.1")
    attributes: ClassVar[Mapping[str, AttributeSchema]] = {"config": AttributeSchema(kind=Kind.STRING)}

    async def content(self, at: Context, want: P) -> tuple[str, Any]:
        """(group, config) as stored."""
        raise NotImplementedError(self.name)

    async def sources(self, at: Context, want: P) -> Sequence[Config]:
        """Other configs that the content is made of."""
        return ()

    async def create(self, at: Context, want: P) -> str:
        group, config = await self.content(at, want)
        values = plain(want)
        stored = await at.configs.create(
            ident=at.me.id,
            name=at.me.physical_name,
            group=group,
            config=config,
            inputs=[_shown(one) for one in values.get("inputs") or ()],
            outputs=values.get("outputs") or (),
            options=values.get("options") or {},
            made_of=await self.sources(at, want),
        )
        return stored.id

    async def settle(self, at: Context, want: P) -> None:
        """Nothing to wait for."""

    async def delete(self, at: Context, was: P | None) -> None:
        if at.me.physical_id:
            await at.configs.delete(at.me.physical_id)

    async def attribute(self, at: Context, was: P, name: str) -> Any:
        stored = await at.configs.get(at.me.physical_id) if at.me.physical_id else None
        if stored is None:
            return None
        if name == "show":
            return {"id": stored.id, "name": stored.name, "group": stored.group, "config": stored.config}
        return stored.config


class SoftwareConfig(StoredConfig[SoftwareConfigProps]):
    """A text for a hook."""

    name, props = "OS::Heat::SoftwareConfig", SoftwareConfigProps

    async def content(self, at: Context, want: SoftwareConfigProps) -> tuple[str, Any]:
        return want.group, want.config


class StructuredConfig(StoredConfig[StructuredConfigProps]):
    """A map for a hook, with places for inputs."""

    name, props = "OS::Heat::StructuredConfig", StructuredConfigProps

    async def content(self, at: Context, want: StructuredConfigProps) -> tuple[str, Any]:
        return want.group, want.config


class SoftwareComponent(StoredConfig[SoftwareComponentProps]):
    """Several configs, each for some of the life-cycle actions."""

    name, props = "OS::Heat::SoftwareComponent", SoftwareComponentProps
    support = Support(since="2014.2")

    def validate(self, properties: Mapping[str, Any]) -> Sequence[str]:
        seen: set[str] = set()
        problems = []
        configs = properties.get("configs")
        for entry in configs if isinstance(configs, list) else ():
            actions = entry.get("actions", ["CREATE", "UPDATE"]) if isinstance(entry, Mapping) else ()
            for action in actions if isinstance(actions, list) else ():
                if action in seen:
                    problems.append(f"The action {action} is named by more than one entry of configs.")
                seen.add(str(action))
        return problems

    async def content(self, at: Context, want: SoftwareComponentProps) -> tuple[str, Any]:
        return "component", {"configs": plain(want.configs)}


class CloudConfig(StoredConfig[CloudConfigProps]):
    """A cloud-config document for cloud-init."""

    name, props = "OS::Heat::CloudConfig", CloudConfigProps

    async def content(self, at: Context, want: CloudConfigProps) -> tuple[str, Any]:
        document = json.loads(json.dumps(want.cloud_config or {}))
        return UNGROUPED, "#cloud-config\n" + yaml.safe_dump(document, allow_unicode=True, sort_keys=False)


class MultipartMime(StoredConfig[MultipartMimeProps]):
    """Several configs as one multipart message for cloud-init."""

    name, props = "OS::Heat::MultipartMime", MultipartMimeProps

    async def sources(self, at: Context, want: MultipartMimeProps) -> Sequence[Config]:
        found = [await at.configs.get(part.config) for part in want.parts]
        return [one for one in found if one is not None]

    async def content(self, at: Context, want: MultipartMimeProps) -> tuple[str, Any]:
        texts = []
        for part in want.parts:
            stored = await at.configs.get(part.config)
            text = part.config if stored is None else stored.config
            if not isinstance(text, str):
                raise ResourceFailed("A part of a multipart message must be text; this config is a map.")
            texts.append((text, part.type, part.subtype, part.filename))
        return want.group, multipart(texts)
