"""The compute worker: carries out what was asked of servers, through the driver, and records how it ended."""

import logging
from collections.abc import Awaitable, Callable, Mapping

from calor.server.devcloud.calls import now, now_micro
from calor.server.devcloud.cloud import Cloud
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.driver import DriverError, ServerSpec
from calor.server.devcloud.fabric import Fabric
from calor.server.devcloud.nova.destruction import forget_server, release_volume, unbind
from calor.server.devcloud.tasks import Step, enqueue
from calor.server.devcloud.volume_files import ensure_volume
from calor.server.devcloud.wiring import port_wiring, server_spec, volume_wiring

GRACE_SECONDS = 10.0
log = logging.getLogger(__name__)


class Machines:
    """One step per kind of task; each is safe to run again after a crash in its middle."""

    def __init__(self, cloud: Cloud, fabric: Fabric) -> None:
        self._cloud = cloud
        self._docs = cloud.docs
        self._driver = cloud.driver
        self._fabric = fabric

    @property
    def steps(self) -> Mapping[str, Step]:
        return {
            "spawn": self._spawn,
            "ensure_running": self._ensure_running,
            "power_on": self._power_on,
            "power_off": self._power_off,
            "freeze": self._freeze,
            "thaw": self._thaw,
            "reboot": self._reboot,
            "rebuild": self._rebuild,
            "resize": self._resize,
            "revert": self._revert,
            "destroy": self._destroy,
            "attach": self._attach,
            "detach": self._detach,
            "plug": self._plug,
            "unplug": self._unplug,
        }

    def resume(self) -> None:
        """After a restart: servers that ran are found running, or started again."""
        with self._docs.transaction():
            for server in self._docs.all("server"):
                pending = self._docs.where("task", subject=f"server:{server['id']}")
                if server["vm_state"] in ("active", "resized") and not pending:
                    enqueue(self._docs, f"server:{server['id']}", "ensure_running")

    def _server(self, task: Doc) -> Doc | None:
        return self._docs.get("server", task["subject"].partition(":")[2])

    def _end(self, task: Doc, **fields: object) -> None:
        """Drop the task and record its outcome, as one."""
        with self._docs.transaction():
            self._docs.drop("task", task["id"])
            server = self._server(task)
            if server is not None:
                if server["task_state"] == "deleting":
                    fields.pop("task_state", None)
                self._docs.change("server", server["id"], **{"updated": now(), **fields})

    def _fail(self, task: Doc, message: str) -> None:
        fault = {"code": 500, "created": now(), "message": message, "details": message}
        self._end(task, vm_state="error", task_state=None, fault=fault)

    async def _carry_out(self, task: Doc, act: Callable[[ServerSpec], Awaitable[None]], **fields: object) -> bool:
        """Run a driver call on the server as it is wanted now. True when it went well and is recorded."""
        server = self._server(task)
        if server is None:
            self._end(task)
            return False
        try:
            await self._fabric.converge()
            spec = server_spec(self._cloud, server)
            for volume in spec.volumes:
                ensure_volume(self._cloud, volume.volume_id)
            await act(spec)
        except DriverError as exc:
            log.warning("a server could not be run as asked", extra={"server": server["id"], "reason": str(exc)})
            self._fail(task, str(exc))
            return False
        for port in spec.ports:
            self._fabric.plugged(port)
        with self._docs.transaction():
            self._end(task, **fields)
            self._mark_wired(spec)
        return True

    def _mark_wired(self, spec: ServerSpec) -> None:
        """Ports and volumes that the running server has are up."""
        for port in spec.ports:
            if (doc := self._docs.get("port", port.port_id)) is not None and doc["status"] != "ACTIVE":
                self._docs.change("port", port.port_id, status="ACTIVE")
        for attachment in self._docs.where("attachment", server_id=spec.id, status="attaching"):
            if any(volume.volume_id == attachment["volume_id"] for volume in spec.volumes):
                self._docs.change("attachment", attachment["id"], status="attached")
                self._docs.change("volume", attachment["volume_id"], status="in-use", updated_at=now_micro())

    async def _spawn(self, task: Doc) -> None:
        server = self._server(task)
        if server is not None and server["trouble"] == "never_ready":
            return
        if server is not None and server["trouble"] == "broken":
            self._fail(task, server["trouble_message"])
            return
        await self._carry_out(
            task,
            self._driver.spawn,
            vm_state="active",
            task_state=None,
            host=True,
            fault=None,
            launched_at=now_micro(),
        )

    async def _ensure_running(self, task: Doc) -> None:
        async def start_if_down(spec: ServerSpec) -> None:
            if not await self._driver.is_running(spec.id):
                await self._driver.power_on(spec)

        await self._carry_out(task, start_if_down)

    async def _power_on(self, task: Doc) -> None:
        await self._carry_out(task, self._driver.power_on, vm_state="active", task_state=None, fault=None)

    async def _power_off(self, task: Doc) -> None:
        async def stop(spec: ServerSpec) -> None:
            await self._driver.power_off(spec.id, timeout=GRACE_SECONDS)

        await self._carry_out(task, stop, vm_state="stopped", task_state=None)

    async def _freeze(self, task: Doc) -> None:
        async def freeze(spec: ServerSpec) -> None:
            await self._driver.freeze(spec.id)

        await self._carry_out(task, freeze, vm_state=task["arguments"]["vm_state"], task_state=None)

    async def _thaw(self, task: Doc) -> None:
        """One that did not outlive a restart of this machine boots again."""

        async def thaw(spec: ServerSpec) -> None:
            if await self._driver.is_running(spec.id):
                await self._driver.thaw(spec.id)
            else:
                await self._driver.power_on(spec)

        await self._carry_out(task, thaw, vm_state="active", task_state=None)

    async def _reboot(self, task: Doc) -> None:
        async def reboot(spec: ServerSpec) -> None:
            await self._driver.reboot(spec, hard=task["arguments"]["hard"])

        await self._carry_out(task, reboot, vm_state="active", task_state=None, fault=None)

    async def _rebuild(self, task: Doc) -> None:
        async def rebuild(spec: ServerSpec) -> None:
            await self._driver.rebuild(spec)
            if task["arguments"]["stopped"]:
                await self._driver.power_off(spec.id, timeout=GRACE_SECONDS)

        state = "stopped" if task["arguments"]["stopped"] else "active"
        await self._carry_out(
            task, rebuild, vm_state=state, task_state=None, host=True, fault=None, launched_at=now_micro()
        )

    async def _resize(self, task: Doc) -> None:
        server = self._server(task)
        flavor = self._docs.get("flavor", task["arguments"]["flavor"])
        if server is None or flavor is None:
            self._end(task, task_state=None)
            return
        stopped = task["arguments"]["stopped"]
        old = server["old_flavor"] or server["flavor"]
        with self._docs.transaction():
            self._docs.change("server", server["id"], flavor=flavor, old_flavor=old, was_stopped=stopped)
        await self._carry_out(task, self._restarter(stopped), vm_state="resized", task_state=None)

    async def _revert(self, task: Doc) -> None:
        server = self._server(task)
        if server is None:
            self._end(task)
            return
        with self._docs.transaction():
            self._docs.change("server", server["id"], flavor=server["old_flavor"] or server["flavor"], old_flavor=None)
        stopped = bool(server.get("was_stopped"))
        state = "stopped" if stopped else "active"
        await self._carry_out(task, self._restarter(stopped), vm_state=state, task_state=None)

    def _restarter(self, stopped: bool) -> Callable[[ServerSpec], Awaitable[None]]:
        """A new flavor holds from the next boot on: boot a server that runs."""

        async def restart(spec: ServerSpec) -> None:
            if not stopped:
                await self._driver.reboot(spec, hard=True)

        return restart

    async def _destroy(self, task: Doc) -> None:
        server = self._server(task)
        if server is None:
            self._end(task)
            return
        try:
            await self._driver.destroy(server["id"])
        except DriverError as exc:
            with self._docs.transaction():
                self._docs.change("server", server["id"], task_state=None)  # so that it can be deleted again
                self._fail(task, str(exc))
            return
        with self._docs.transaction():
            forget_server(self._docs, server)
            self._docs.drop("task", task["id"])

    async def _attach(self, task: Doc) -> None:
        attachment = self._docs.get("attachment", task["arguments"]["attachment"])
        server = self._server(task)
        if attachment is None or server is None:
            self._end(task)
            return
        wiring = volume_wiring(self._cloud, attachment)
        ensure_volume(self._cloud, attachment["volume_id"])
        try:
            await self._driver.attach(server["id"], wiring)
        except DriverError as exc:
            log.warning("a volume could not be attached", extra={"server": server["id"], "reason": str(exc)})
            with self._docs.transaction():
                self._end(task)
                release_volume(self._docs, attachment)
            return
        with self._docs.transaction():
            self._end(task)
            self._docs.change("attachment", attachment["id"], status="attached")
            self._docs.change("volume", attachment["volume_id"], status="in-use", updated_at=now_micro())

    async def _detach(self, task: Doc) -> None:
        attachment = self._docs.get("attachment", task["arguments"]["attachment"])
        server = self._server(task)
        if attachment is None or server is None:
            self._end(task)
            return
        try:
            await self._driver.detach(server["id"], attachment["volume_id"])
        except DriverError as exc:
            log.warning("a volume could not be detached", extra={"server": server["id"], "reason": str(exc)})
            with self._docs.transaction():
                self._end(task)
                self._docs.change("attachment", attachment["id"], status="attached")
                self._docs.change("volume", attachment["volume_id"], status="in-use")
            return
        with self._docs.transaction():
            self._end(task)
            release_volume(self._docs, attachment)

    async def _plug(self, task: Doc) -> None:
        server, port = self._server(task), self._docs.get("port", task["arguments"]["port"])
        if server is None or port is None:
            self._end(task)
            return
        wiring = port_wiring(self._docs, port)
        try:
            await self._fabric.converge()
            await self._driver.plug(server["id"], wiring)
        except DriverError as exc:
            log.warning("a port could not be plugged", extra={"server": server["id"], "reason": str(exc)})
            with self._docs.transaction():
                self._end(task)
                unbind(self._docs, server, port)
            return
        self._fabric.plugged(wiring)
        with self._docs.transaction():
            self._end(task)
            self._docs.change("port", port["id"], status="ACTIVE")

    async def _unplug(self, task: Doc) -> None:
        server, port = self._server(task), self._docs.get("port", task["arguments"]["port"])
        if server is None or port is None:
            self._end(task)
            return
        try:
            await self._driver.unplug(server["id"], port["id"])
        except DriverError as exc:
            log.warning("a port could not be unplugged", extra={"server": server["id"], "reason": str(exc)})
            self._end(task)
            return
        with self._docs.transaction():
            self._end(task)
            unbind(self._docs, server, port)
