"""What ``calor dev`` runs: the cloud in this process, the server in it too or in one of its own."""

import asyncio
import contextlib
import os
import signal
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from calor.server.cli.dev import files
from calor.server.cli.dev.claim import claimed
from calor.server.devcloud import runtime, state
from calor.server.devcloud.driver import Driver, DriverError
from calor.server.devcloud.record import RecordDriver

if TYPE_CHECKING:
    from calor.server.config import Settings

SERVER_START_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Options:
    """``processes`` 0: the cloud alone, beside a server that runs already."""

    directory: Path
    port: int | None
    orchestration_port: int | None
    cfn_port: int | None
    driver: str | None
    processes: int
    ready_file: Path | None
    remove_servers: bool
    tls: bool | None = None
    """None: as at the last start."""


class Sockets:
    """The ports that a dev cloud keeps. Bound first, so that nothing is begun when one is taken."""

    def __init__(self, known: state.DevState, *, server: bool) -> None:
        self.cloud = runtime.listen(known.ports.cloud, "cloud")
        self._probes: list[socket.socket] = []
        ports = {"cloud": int(self.cloud.getsockname()[1])}
        try:
            for name in ("orchestration", "cfn"):
                wanted = getattr(known.ports, name)
                ports[name] = self._probe(wanted, name) if server or not wanted else wanted
        except state.StateError:
            self.cloud.close()
            raise
        finally:
            for probe in self._probes:
                probe.close()
        self.ports = state.Ports(**ports)

    def _probe(self, port: int, name: str) -> int:
        """Find the port free, or find a free one; the server binds it."""
        probe = runtime.listen(port, name)
        self._probes.append(probe)
        return int(probe.getsockname()[1])


def settled_state(options: Options) -> state.DevState:
    """The state of the directory, or a new one, with the ports and driver asked for now."""
    driver = options.driver or default_driver()
    known = state.load(options.directory)
    fresh = known is None
    if known is None:
        cloud = 5000 if options.port is None else options.port
        free = cloud == 0
        known = state.new_state(
            state.Ports(cloud=cloud, orchestration=0 if free else 8004, cfn=0 if free else 8000), driver
        )
    elif options.driver is None:
        driver = known.driver if known.driver == driver or os.geteuid() == 0 else driver
    asked = {name: port for name, port in _asked(options).items() if port is not None}
    given = asked if fresh else {name: _settled_port(known, name, port) for name, port in asked.items()}
    tls = known.tls if options.tls is None else options.tls
    return replace(state.with_ports(known, **given), driver=driver, tls=tls)


def _asked(options: Options) -> Mapping[str, int | None]:
    """The ports of the command line: ``--port 0`` stands for the server's too, where one is started."""
    implied = 0 if options.port == 0 and options.processes > 0 else None
    more = {"orchestration": options.orchestration_port, "cfn": options.cfn_port}
    return {"cloud": options.port, **{name: implied if port is None else port for name, port in more.items()}}


def _settled_port(known: state.DevState, name: str, asked: int) -> int:
    """At a restart 0 is the port that was found before, unless another program has taken it since."""
    before = int(getattr(known.ports, name))
    if asked or any(files.is_alive(pid) for pid in known.pids.values()):
        return asked or before
    try:
        runtime.listen(before, name).close()
    except state.StateError:
        return 0
    return before


def default_driver() -> str:
    """Sandboxes where this machine can run them."""
    from calor.server.devcloud.sandbox import requirements

    return "record" if requirements.missing() else "sandbox"


async def make_driver(name: str, directory: Path) -> tuple[Driver, dict[str, Path]]:
    """The driver and the images at hand for it. Raises `state.StateError` with what is missing."""
    if name == "record":
        return RecordDriver(), {}
    from calor.server.devcloud.images import ImageError, built, cache_dir
    from calor.server.devcloud.images.host import ensure_host
    from calor.server.devcloud.qemu import requirements as qemu_requirements
    from calor.server.devcloud.sandbox import requirements
    from calor.server.devcloud.sandbox.driver import SandboxDriver

    only_vms = name == "qemu"
    if problems := requirements.missing() + (qemu_requirements.missing() if only_vms else []):
        raise state.StateError(" ".join(problems))
    try:
        at_hand = {image.name: image.path for image in built(cache_dir())}
        if not only_vms:
            at_hand["host"] = (await ensure_host(cache_dir(), files.progress)).path
    except ImageError as exc:
        raise state.StateError(str(exc)) from exc
    return SandboxDriver(directory, only_vms=only_vms), at_hand


@contextlib.contextmanager
def _directory_faults(directory: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise state.StateError(f"The state directory {directory} cannot be used: {reason}.") from exc


async def run(options: Options) -> None:
    """Serve until SIGTERM or SIGINT. Raises `state.StateError` where it cannot start."""
    stop = asyncio.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(one, stop.set)
    with claimed(options.directory), _directory_faults(options.directory):
        await _run(options, stop)


async def _run(options: Options, stop: asyncio.Event) -> None:
    known = settled_state(options)
    if options.ready_file is not None:
        await asyncio.to_thread(options.ready_file.unlink, missing_ok=True)
    sockets = _bound(options, known)
    alive = {name: pid for name, pid in known.pids.items() if name == "server" and options.processes == 0}
    known = replace(known, ports=sockets.ports, pids={**alive, "cloud": os.getpid()})
    files.write(options.directory, known)
    driver, images = await make_driver(known.driver, options.directory)
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(
                runtime.running(
                    options.directory,
                    known,
                    driver,
                    sock=sockets.cloud,
                    image_paths=images,
                    keep_servers=not options.remove_servers,
                )
            )
        except DriverError as exc:
            raise state.StateError(str(exc)) from exc
        pid = await stack.enter_async_context(_server(options))
        known = replace(known, pids={**known.pids, **({"server": pid} if pid else {})})
        state.save(options.directory, known)
        record = files.ready_record(options.directory, known)
        if options.ready_file is not None:
            files.write_ready(options.ready_file, record)
        files.greet(options.directory, known, driver.describe(), keeps_servers=not options.remove_servers)
        await stop.wait()


def _bound(options: Options, known: state.DevState) -> Sockets:
    """The sockets; where a port is taken by this dev cloud's own server, the refusal says so."""
    try:
        return Sockets(known, server=options.processes > 0)
    except state.StateError as exc:
        server = known.pids.get("server", 0)
        if files.is_alive(server):
            raise state.StateError(
                f"{exc} Its own server seems to run still (pid {server}): --cloud-only starts the cloud beside it."
            ) from exc
        raise


@asynccontextmanager
async def _server(options: Options) -> AsyncIterator[int]:
    """The orchestration server, for the block; gives its process id, 0 where none was asked for."""
    if options.processes == 0:
        yield 0
    elif options.processes == 1:
        async with _in_this_process(options.directory):
            yield os.getpid()
    else:
        async with _in_its_own(options.directory) as pid:
            yield pid


@asynccontextmanager
async def _in_this_process(directory: Path) -> AsyncIterator[None]:
    from calor.server.cli.composition import StartFault, running

    try:
        async with running(_settings(directory), upgrade=True):
            yield
    except StartFault as exc:
        raise state.StateError(str(exc)) from exc


def _settings(directory: Path) -> "Settings":
    from calor.server.cli.options import load_settings

    return load_settings((), directory)


@asynccontextmanager
async def _in_its_own(directory: Path) -> AsyncIterator[int]:
    """``calor server --dev``: nothing restarts it when it ends."""
    ready = directory / "run" / "server.ready"
    ready.parent.mkdir(exist_ok=True)
    ready.unlink(missing_ok=True)
    command = [sys.executable, "-m", "calor.server", "server", "--dev", str(directory), "--ready-file", str(ready)]
    environment: Mapping[str, str] = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = await asyncio.create_subprocess_exec(*command, env=environment, start_new_session=True)
    try:
        await _until_ready(process, ready)
        yield process.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _until_ready(process: asyncio.subprocess.Process, ready: Path) -> None:
    async with asyncio.timeout(SERVER_START_SECONDS):
        while not await asyncio.to_thread(ready.exists):
            if process.returncode is not None:
                raise state.StateError(f"The server ended at its start with code {process.returncode}; see above.")
            await asyncio.sleep(0.02)
