"""Keeps the driver's networks, routers and packet rules as the documents say. Level-triggered: it compares all."""

import asyncio
import logging

from calor.server.devcloud.cloud import Cloud
from calor.server.devcloud.documents import Key
from calor.server.devcloud.driver import DriverError, PortWiring, RouterWiring
from calor.server.devcloud.wiring import Groups, port_wiring, router_wiring

KINDS = frozenset({"network", "subnet", "port", "router", "floatingip", "security_group", "security_group_rule"})

log = logging.getLogger(__name__)


class Fabric:
    """``converge`` brings the driver's world to the documents'; a commit that touches networks causes one."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._lock = asyncio.Lock()
        self._routers: dict[str, RouterWiring] = {}
        self._networks: set[str] = set()
        self._ports: dict[str, PortWiring] = {}
        self._soon: asyncio.Task[None] | None = None
        self._stale = True

    def start(self) -> None:
        self._cloud.docs.watch(self._told)

    async def stop(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            await asyncio.gather(self._soon, return_exceptions=True)

    def _told(self, changed: frozenset[Key]) -> None:
        if any(kind in KINDS for kind, _ in changed):
            self._stale = True
            if self._soon is None or self._soon.done():
                self._soon = asyncio.create_task(self._converge_soon(), name="fabric")

    async def _converge_soon(self) -> None:
        try:
            await self.converge()
        except DriverError as exc:
            log.error("the networks could not be made as asked", extra={"reason": str(exc)})  # noqa: TRY400
        except Exception:
            log.exception("the networks could not be made as asked")

    async def converge(self) -> None:
        """Returns once the driver's world agrees with all that was committed before the call.

        Raises `DriverError`; the next call tries again."""
        async with self._lock:
            while self._stale:
                self._stale = False
                try:
                    await self._pass()
                except BaseException:
                    self._stale = True
                    raise

    def plugged(self, port: PortWiring) -> None:
        """The driver was just told of this port; later changes of its rules are passed on."""
        self._ports[port.port_id] = port

    async def _pass(self) -> None:
        docs, driver = self._cloud.docs, self._cloud.driver
        routers = {doc["id"]: router_wiring(docs, doc) for doc in docs.all("router")}
        networks = {doc["id"]: doc for doc in docs.all("network")}
        await self._remove_gone(set(routers), set(networks))
        for ident in [ident for ident in networks if ident not in self._networks]:
            self._remember("network", ident)
            await driver.ensure_network(ident, external=networks[ident]["router:external"], mtu=networks[ident]["mtu"])
            self._networks.add(ident)
        for ident, wiring in routers.items():
            if self._routers.get(ident) != wiring:
                self._remember("router", ident)
                await driver.ensure_router(wiring)
                self._routers[ident] = wiring
        await self._refresh_rules()

    async def _remove_gone(self, routers: set[str], networks: set[str]) -> None:
        """What the driver was ever told of, in this life or an earlier one, and has no document any more."""
        docs, driver = self._cloud.docs, self._cloud.driver
        made = docs.all("wired")
        for kind, present, remove in (
            ("router", routers, driver.remove_router),
            ("network", networks, driver.remove_network),
        ):
            for one in [one for one in made if one["what"] == kind and one["id"] not in present]:
                await remove(one["id"])
                self._routers.pop(one["id"], None)
                self._networks.discard(one["id"])
                with docs.transaction():
                    docs.drop("wired", one["id"])

    def _remember(self, what: str, ident: str) -> None:
        docs = self._cloud.docs
        if docs.get("wired", ident) is None:
            with docs.transaction():
                docs.put("wired", {"id": ident, "what": what})

    async def _refresh_rules(self) -> None:
        docs = self._cloud.docs
        groups = Groups(docs)
        for ident, known in list(self._ports.items()):
            port = docs.get("port", ident)
            if port is None or not port["device_id"]:
                del self._ports[ident]
                continue
            wiring = port_wiring(docs, port, groups)
            if wiring != known:
                await self._cloud.driver.set_rules(port["device_id"], wiring)
                self._ports[ident] = wiring
