"""A server's networks: what Nova makes of them, and the ports that we make where Nova cannot."""

from collections.abc import Collection, Sequence
from typing import Any

from calor.server.cloud.errors import CloudConflict, CloudMissing
from calor.server.resources.base import Context, ResourceFailed
from calor.server.resources.bodies import id_of, present
from calor.server.resources.collections import FLOATING_IPS, PORTS, SECURITY_GROUPS, SUBNETS
from calor.server.resources.neutron.objects import token
from calor.server.resources.neutron.port_props import PortExtra, extra_body
from calor.server.resources.nova.server_props import ServerNetwork, ServerProps

PAUSES = (0.2, 0.3, 0.5, 0.8, 1.2, *([2.0] * 30))
"""Seconds between looks at the ports of a server whose interfaces change."""


def is_ours(entry: ServerNetwork) -> bool:
    """Nova makes a port on a network, with a fixed address at most; for anything finer we make it."""
    return entry.port is None and bool(entry.subnet or entry.port_extra_properties)


def slot(at: Context, number: int) -> str:
    """The description of the port we make for an entry: the same after a crash."""
    return f"{token(at)} network {number}"


async def requested(at: Context, want: ServerProps) -> Any:
    """The ``networks`` of a create call: ``auto``, ``none`` or a list; None where the template says nothing."""
    if want.networks is None or not want.networks:
        return None
    if want.networks[0].allocate_network:
        return want.networks[0].allocate_network
    return [await _entry(at, want, number) for number in range(len(want.networks))]


async def _entry(at: Context, want: ServerProps, number: int, taken: Collection[str] = ()) -> dict[str, str]:
    entry = (want.networks or ())[number]
    tag = {"tag": entry.tag} if entry.tag else {}
    if entry.port:
        return {"port": entry.port, **tag}
    if is_ours(entry):
        return {"port": await own_port(at, want, number, taken), **tag}
    fixed = {"fixed_ip": entry.fixed_ip} if entry.fixed_ip else {}
    return {"uuid": entry.network or entry.uuid or "", **fixed, **tag}


async def own_port(at: Context, want: ServerProps, number: int, taken: Collection[str] = ()) -> str:
    """The port we make for an entry; the one of an earlier attempt if there is one that serves no other (``taken``)."""
    entry = (want.networks or ())[number]
    found = [port for port in await at.cloud.list(PORTS, description=slot(at, number)) if port["id"] not in taken]
    if found:
        return str(found[0]["id"])
    subnet = await id_of(at.cloud, SUBNETS, entry.subnet) if entry.subnet else None
    network = entry.network or entry.uuid
    if network is None and subnet is not None:
        network = str((await at.cloud.get(SUBNETS, subnet))["network_id"])
    fixed = {**({"subnet_id": subnet} if subnet else {}), **({"ip_address": entry.fixed_ip} if entry.fixed_ip else {})}
    extra = entry.port_extra_properties or PortExtra()
    body = {
        "network_id": network,
        "name": f"{at.me.physical_name}-port-{number}",
        "description": slot(at, number),
        "fixed_ips": [] if extra.no_fixed_ips else [fixed] if fixed else None,
        "security_groups": await groups_of(at, want) or None,
        **extra_body(extra),
    }
    return str((await at.cloud.create(PORTS, **present(body)))["id"])


async def groups_of(at: Context, want: ServerProps) -> list[str]:
    return [await id_of(at.cloud, SECURITY_GROUPS, str(group)) for group in want.security_groups]


async def own_ports(at: Context) -> Sequence[str]:
    """The ports that we made for this server."""
    ports = await at.cloud.list(PORTS, device_id=at.me.physical_id) if at.me.physical_id else []
    loose = await at.cloud.list(PORTS, name=f"{at.me.physical_name}-port-0") if not at.me.physical_id else []
    return [str(port["id"]) for port in (*ports, *loose) if _is_made_by_us(at, port)]


def _is_made_by_us(at: Context, port: Any) -> bool:
    return str(port.get("description", "")).startswith(token(at))


def may_have_own_ports(at: Context, was: ServerProps | None) -> bool:
    """An entry that was written otherwise since may still be served by a port of ours."""
    return bool(at.me.data.get("own_ports")) or any(is_ours(entry) for entry in (was.networks if was else None) or ())


async def associate(at: Context, networks: Sequence[ServerNetwork]) -> None:
    """Lead each entry's floating IP to the server's port there."""
    entries = [entry for entry in networks if entry.floating_ip]
    if not entries:
        return
    ports = await at.cloud.list(PORTS, device_id=at.me.physical_id)
    for entry in entries:
        port = next((port for port in ports if serves(port, entry)), None)
        if port is None:
            raise ResourceFailed(f"The server has no port for the floating IP {entry.floating_ip}.")
        await at.cloud.update(FLOATING_IPS, str(entry.floating_ip), port_id=port["id"])


def serves(port: Any, entry: ServerNetwork) -> bool:
    """Is it the port that an entry asks for?"""
    if entry.port:
        return bool(port["id"] == entry.port)
    addresses = {fixed.get("ip_address") for fixed in port.get("fixed_ips") or ()}
    subnets = {fixed.get("subnet_id") for fixed in port.get("fixed_ips") or ()}
    return (
        (entry.network or entry.uuid) in (None, port["network_id"])
        and entry.fixed_ip in (None, *addresses)
        and entry.subnet in (None, *subnets)
    )


async def rewire(at: Context, want: ServerProps, was: ServerProps) -> None:
    """Detach what is no longer wanted, attach what is new. Entries that stay the same are left alone, and a port that
    can serve an entry that was only written otherwise stays where it is, as in Heat."""
    wanted = list(enumerate(want.networks or ()))
    taken, spare = await _unmatched(at, was, wanted)
    for item in sorted(wanted, key=lambda item: precision(item[1])):
        kept = next((one for one in spare if can_take_over(*one, item[1])), None)
        if kept is not None:
            spare.remove(kept)
            wanted.remove(item)
            if _is_made_by_us(at, kept[1]):
                await at.remember(own_ports=True)
    for _, port in spare:
        taken.discard(str(port["id"]))
        await detach(at, str(port["id"]))
        if _is_made_by_us(at, port):
            await at.cloud.delete(PORTS, str(port["id"]))
    for number, entry in wanted:
        if not entry.allocate_network:
            taken.add(await _attach(at, want, number, taken))
    await associate(at, want.networks or ())


async def _unmatched(
    at: Context, was: ServerProps, wanted: list[tuple[int, ServerNetwork]]
) -> tuple[set[str], list[tuple[ServerNetwork, Any]]]:
    """The ports in use, and those of entries that are wanted no more. Takes entries that stay the same out of
    ``wanted``."""
    taken: set[str] = set()
    spare: list[tuple[ServerNetwork, Any]] = []
    for entry in sorted(was.networks or (), key=precision):
        port = await _port_of(at, entry, taken)
        same = next((item for item in wanted if item[1] == entry), None)
        taken |= {str(port["id"])} if port else set()
        if same is not None:
            wanted.remove(same)
        elif port is not None:
            spare.append((entry, port))
    return taken, spare


def can_take_over(was: ServerNetwork, port: Any, entry: ServerNetwork) -> bool:
    """Whether the port of one entry serves another. A port that the user made is his to take away."""
    return (
        serves(port, entry)
        and (entry.port is not None or was.port is None)
        and (was.tag, was.port_extra_properties) == (entry.tag, entry.port_extra_properties)
        and not entry.allocate_network
    )


async def give_up(at: Context, was: ServerProps, want: ServerProps | None) -> None:
    """Detach the ports and let go of the addresses that another server is to have."""
    taken: set[str] = set()
    others = [(entry.port, entry.fixed_ip) for entry in (want.networks or () if want else ())]
    for entry in was.networks or ():
        if not _exists_once(entry) or (entry.port, entry.fixed_ip) not in others:
            continue
        port = await _port_of(at, entry, taken)
        if port is None:
            continue
        try:
            await detach(at, str(port["id"]))
        except CloudConflict:  # a server in no state for it; its port is taken from it all the same
            await at.cloud.update(PORTS, str(port["id"]), device_id="", device_owner="")
        if _is_made_by_us(at, port):
            await at.cloud.delete(PORTS, str(port["id"]))


async def take_back(at: Context, was: ServerProps) -> None:
    """Attach again what was given up; entries that were left alone are found as they are."""
    taken: set[str] = set()
    for number, entry in enumerate(was.networks or ()):
        if _exists_once(entry):
            taken.add(await _attach(at, was, number, taken))
    await associate(at, was.networks or ())


def _exists_once(entry: ServerNetwork) -> bool:
    return bool(entry.port or entry.fixed_ip)


def precision(entry: ServerNetwork) -> int:
    """The most precise entry is matched first, so that a vague one does not take its port."""
    return 0 if entry.port else 1 if entry.fixed_ip else 2 if entry.subnet else 3


async def _port_of(at: Context, entry: ServerNetwork, taken: set[str]) -> Any:
    ports = await at.cloud.list(PORTS, device_id=at.me.physical_id)
    return next((port for port in ports if port["id"] not in taken and serves(port, entry)), None)


async def _attach(at: Context, want: ServerProps, number: int, taken: set[str]) -> str:
    """The port by which an entry is served from now on (or was already, before a crash)."""
    entry = (want.networks or ())[number]
    port = await _port_of(at, entry, taken)
    if port is None:
        asked = await _entry(at, want, number, taken)
        body: dict[str, Any] = {"port_id": asked["port"]} if "port" in asked else {"net_id": asked["uuid"]}
        if "fixed_ip" in asked:
            body["fixed_ips"] = [{"ip_address": asked["fixed_ip"]}]
        path = f"/servers/{at.me.physical_id}/os-interface"
        await at.cloud.call("compute", "post", path, json={"interfaceAttachment": body})
        port = await _appeared(at, entry, taken)
    return str(port["id"])


async def _appeared(at: Context, entry: ServerNetwork, taken: set[str]) -> Any:
    for seconds in PAUSES:
        port = await _port_of(at, entry, taken)
        if port is not None:
            return port
        await at.sleep(seconds)
    raise ResourceFailed("The server's new interface did not appear in time.")


async def detach(at: Context, port: str) -> None:
    try:
        await at.cloud.call("compute", "delete", f"/servers/{at.me.physical_id}/os-interface/{port}")
    except CloudMissing:
        return
    for seconds in PAUSES:
        left = await at.cloud.list(PORTS, device_id=at.me.physical_id)
        if port not in [one["id"] for one in left]:
            return
        await at.sleep(seconds)
    raise ResourceFailed("The server's interface was not detached in time.")
