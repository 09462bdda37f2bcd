"""OS::Nova::Server."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from calor.server.cloud.door import Record
from calor.server.resources import collecting
from calor.server.resources.base import Context, ResourceFailed, ResourceType
from calor.server.resources.bodies import present
from calor.server.resources.collecting import write_collect_metadata
from calor.server.resources.collections import COMPUTE_VERSION, PERSONALITY_VERSION, PORTS, SERVERS
from calor.server.resources.neutron.objects import subnet_network
from calor.server.resources.nova import (
    boot_verdicts,
    server_attributes,
    server_networks,
    server_rules,
    server_updates,
    user_data,
)
from calor.server.resources.nova.block_devices import block_devices
from calor.server.resources.nova.server_props import FORMATS, ServerProps
from calor.server.resources.unresolved import is_same
from calor.server.template.properties import AttributeSchema

PLAIN_NAME = re.compile(r"[\w-]+")
NETWORKS_OPTIONAL = "2.36"  # the last version where a server without networks gets the project's only one


class Server(ResourceType[ServerProps]):
    """A server. After a crash it is found by a metadata item that holds the row's id."""

    name, props = "OS::Nova::Server", ServerProps
    holds_data = True
    collection = SERVERS
    supports = frozenset({"check", "suspend", "resume"})
    physical_name_limit = 53
    has_metadata_endpoint = True
    deletion_policies = ("Delete", "Retain", "Snapshot")
    follows: ClassVar[Mapping[str, frozenset[str]]] = {
        "addresses": frozenset({"networks"}),
        "first_address": frozenset({"networks"}),
    }
    name_limit = "max_server_name_length"
    set_by: ClassVar[Mapping[str, str]] = {
        "user_data_format": "default_user_data_format",
        "software_config_transport": "default_software_config_transport",
    }
    moved: ClassVar[Mapping[str, str]] = {
        "networks.uuid": "networks.network",
        "block_device_mapping_v2.image_id": "block_device_mapping_v2.image",
    }
    attributes: ClassVar[Mapping[str, AttributeSchema]] = server_attributes.ATTRIBUTES

    def validate(self, properties: Mapping[str, Any]) -> Sequence[str]:
        return list(server_rules.problems(properties))

    def must_replace(self, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]) -> str | None:
        for name in ("flavor", "image", "user_data"):
            if name in changed and want.get(f"{name}_update_policy") == "REPLACE":
                return f"{name} changes and {name}_update_policy is REPLACE"
        if "user_data" in changed and want.get("user_data_update_policy") is None:
            return "user_data changes and user_data_update_policy is REPLACE"
        if "image" in changed and not want.get("image"):
            return "image is left out: a server cannot be rebuilt from nothing"
        return None

    def overwrites(self, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]) -> str | None:
        if "image" in changed or ("user_data" in changed and want.get("user_data_update_policy") == "REBUILD"):
            return "the server is rebuilt: its disk begins anew"
        return None

    hidden_types = frozenset({"OS::Neutron::Subnet"})

    def takes_deployments(self, properties: Mapping[str, Any]) -> str:
        shape = properties.get("user_data_format")
        if shape not in FORMATS or shape == user_data.SOFTWARE_CONFIG:
            return ""
        return f"its user_data_format is {shape}: software deployments need user_data_format: SOFTWARE_CONFIG"

    def refuses_metadata(self, properties: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
        if properties.get("user_data_format") != user_data.SOFTWARE_CONFIG or "deployments" not in metadata:
            return ""
        return "metadata: with user_data_format SOFTWARE_CONFIG the key deployments is for software deployments."

    def new_metadata(self, known: Mapping[str, Any], written: Mapping[str, Any]) -> Mapping[str, Any]:
        return collecting.merged(known, written)

    def hidden_dependencies(
        self, mine: Mapping[str, Any], others: Mapping[str, tuple[str, Mapping[str, Any]]]
    ) -> frozenset[str]:
        """Subnets of the networks it joins; where a network is not named (a port is), any subnet may be one."""
        networks = mine.get("networks")
        entries = [entry for entry in networks if isinstance(entry, Mapping)] if isinstance(networks, list) else []
        joined = [entry.get("network", entry.get("uuid")) for entry in entries]
        needed = set()
        for name, (kind, properties) in others.items():
            if kind != "OS::Neutron::Subnet":
                continue
            home = subnet_network(properties)
            if home is None or any(network is None or is_same(network, home) for network in joined):
                needed.add(name)
        return frozenset(needed)

    def needs_services(self, properties: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        if properties.get("user_data_format", "HEAT_CFNTOOLS") in ("HEAT_CFNTOOLS", "RAW"):
            return []  # no agent: the transport means nothing
        return collecting.needed(properties)

    def is_deferred(self, properties: Mapping[str, Any]) -> bool:
        return bool(self.needs_services(properties))

    async def create(self, at: Context, want: ServerProps) -> str:
        boot_verdicts.check(at, want.user_data_format)
        if want.user_data_format == user_data.SOFTWARE_CONFIG:
            await write_collect_metadata(at, want.software_config_transport, want.deployment_swift_data, "ec2")
        networks = await server_networks.requested(at, want)
        hints = dict(want.scheduler_hints or {})
        if want.reservation_id:
            hints["reservation"] = want.reservation_id
        devices = block_devices(want)
        body = {
            "name": want.name or at.me.physical_name,
            "flavorRef": want.flavor,
            "imageRef": want.image or ("" if devices else None),
            "block_device_mapping_v2": devices or None,
            "key_name": want.key_name,
            "security_groups": [{"name": str(group)} for group in want.security_groups] or None,
            "user_data": await user_data.encoded(at, want) or None,
            "metadata": server_updates.metadata_of(at, want),
            "availability_zone": want.availability_zone,
            "config_drive": want.config_drive,
            "OS-DCF:diskConfig": want.disk_config,
            "adminPass": want.admin_pass,
            "tags": list(want.tags) if want.tags else None,
            "networks": networks,
            "personality": files(want.personality) or None,
            ":os:scheduler_hints": hints or None,
        }
        microversion = COMPUTE_VERSION
        if want.personality:
            microversion = PERSONALITY_VERSION
        if networks is None:
            microversion = NETWORKS_OPTIONAL if not want.tags else microversion
            body["networks"] = "auto" if want.tags else None
        record = await at.cloud.create(SERVERS, **present(body), microversion=microversion)
        return str(record["id"])

    async def find_twin(self, at: Context, want: ServerProps) -> str | None:
        name = want.name or at.me.physical_name
        query = {"name": f"^{name}$"} if PLAIN_NAME.fullmatch(name) else {}
        for record in await at.cloud.list(SERVERS, **query):
            if (record.get("metadata") or {}).get(server_updates.MARK) == at.me.id:
                return str(record["id"])
        return None

    async def settle(self, at: Context, want: ServerProps) -> None:
        await super().settle(at, want)
        await server_networks.associate(at, want.networks or ())
        await boot_verdicts.wait(at)

    async def update(self, at: Context, want: ServerProps, was: ServerProps, changed: frozenset[str]) -> None:
        await server_updates.change(at, want, was, changed)

    async def release(self, at: Context, was: ServerProps, want: ServerProps | None) -> None:
        await server_networks.give_up(at, was, want)

    async def reclaim(self, at: Context, was: ServerProps) -> None:
        await server_networks.take_back(at, was)

    async def delete(self, at: Context, was: ServerProps | None) -> None:
        if server_networks.may_have_own_ports(at, was) and "ports" not in at.me.data:
            await at.remember(ports=list(await server_networks.own_ports(at)))
        await super().delete(at, was)

    async def settle_delete(self, at: Context) -> None:
        if at.me.physical_id:
            await at.cloud.gone(SERVERS, at.me.physical_id, failed=frozenset({"ERROR"}))
        for port in at.me.data.get("ports") or ():
            await at.cloud.delete(PORTS, port)
        await collecting.forget(at)

    async def check(self, at: Context, was: ServerProps) -> None:
        record = await self._record(at)
        if record.get("status") != "ACTIVE":
            raise ResourceFailed(f"The server has the status {record.get('status')}, not ACTIVE.")

    async def suspend(self, at: Context, was: ServerProps) -> None:
        if (await self._record(at)).get("status") != "SUSPENDED":
            await server_updates.act(at, {"suspend": None})
        await server_updates.reach(at, "SUSPENDED")

    async def resume(self, at: Context, was: ServerProps) -> None:
        if (await self._record(at)).get("status") != "ACTIVE":
            await server_updates.act(at, {"resume": None})
        await server_updates.reach(at, "ACTIVE")

    async def attribute(self, at: Context, was: ServerProps, name: str) -> Any:
        return await server_attributes.attribute(at, name)

    async def _record(self, at: Context) -> Record:
        return await at.cloud.get(SERVERS, str(at.me.physical_id))


def files(personality: Mapping[str, Any]) -> list[dict[str, str]]:
    return [{"path": path, "contents": user_data.base64_text(str(text))} for path, text in personality.items()]
