"""A dev cloud that runs: documents, driver, workers and the HTTP listener, begun and ended together."""

import errno
import logging
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from calor.server.devcloud import app, seeds, state
from calor.server.devcloud.cinder.storage import Storage
from calor.server.devcloud.cloud import Cloud
from calor.server.devcloud.documents import Documents
from calor.server.devcloud.driver import KNOWN_GUEST_PORTS, Driver
from calor.server.devcloud.fabric import Fabric
from calor.server.devcloud.metadata import MetadataDocuments
from calor.server.devcloud.nova.machines import Machines
from calor.server.devcloud.tasks import Workers
from calor.server.devcloud.tokens import Tokens

log = logging.getLogger(__name__)
HOST = "127.0.0.1"
PORT_OPTIONS = {"cloud": "--port", "orchestration": "--orchestration-port", "cfn": "--cfn-port"}


@dataclass(frozen=True, kw_only=True)
class Running:
    """``socket`` is the listener's; ``workers`` and ``fabric`` let tests wait until all is done."""

    cloud: Cloud
    workers: Workers
    fabric: Fabric
    port: int


def listen(port: int, name: str) -> socket.socket:
    """A bound socket on loopback. Raises `state.StateError` when the port is taken."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((HOST, port))
        sock.listen(1024)
    except OSError as exc:
        sock.close()
        if exc.errno in (errno.EADDRINUSE, errno.EACCES):
            why = "is taken by another program" if exc.errno == errno.EADDRINUSE else "may not be used by this user"
            option = PORT_OPTIONS.get(name, "--port")
            raise state.StateError(
                f"Port {port} ({name}) {why}. Choose another with {option} N, or {option} 0 for any free one."
            ) from exc
        raise
    return sock


@asynccontextmanager
async def running(
    directory: Path,
    known: state.DevState,
    driver: Driver,
    *,
    sock: socket.socket,
    image_paths: Mapping[str, Path],
    keep_servers: bool = True,
) -> AsyncIterator[Running]:
    """Run the cloud of a state directory on a listening socket until the block ends.

    On leaving, servers run on when ``keep_servers`` (a restart finds them), else everything is removed.
    """
    docs = Documents(directory / "cloud.sqlite")
    cloud = Cloud(
        state=directory,
        docs=docs,
        driver=driver,
        tokens=Tokens(docs, known.token_key.encode()),
        orchestration=known.orchestration,
        cfn=known.cfn,
        admin_token=known.admin_token,
        image_paths=image_paths,
    )
    port = int(sock.getsockname()[1])
    try:
        with docs.transaction():
            seeds.plant(docs, known.passwords, image_paths, directory / "demo.pem")
            cloud.tokens.forget_expired()
        await driver.start(MetadataDocuments(cloud), _forwards(known, port))
        try:
            async with _serving(cloud, sock, port) as serving:
                yield serving
        finally:
            await driver.stop(keep=keep_servers)
    finally:
        docs.close()


def _forwards(known: state.DevState, port: int) -> dict[int, tuple[str, int]]:
    here = {"orchestration": known.ports.orchestration, "cfn": known.ports.cfn, "cloud": port}
    return {guest_port: (HOST, here[name]) for name, guest_port in KNOWN_GUEST_PORTS.items()}


@asynccontextmanager
async def _serving(cloud: Cloud, sock: socket.socket, port: int) -> AsyncIterator[Running]:
    fabric = Fabric(cloud)
    machines = Machines(cloud, fabric)
    workers = Workers(cloud.docs, {**machines.steps, **Storage(cloud).steps})
    runner = web.AppRunner(app.build(cloud), access_log=None, handle_signals=False, shutdown_timeout=2.0)
    await runner.setup()
    try:
        machines.resume()
        fabric.start()
        workers.start()
        await web.SockSite(runner, sock).start()
        yield Running(cloud=cloud, workers=workers, fabric=fabric, port=port)
    finally:
        await runner.cleanup()
        await workers.stop()
        await fabric.stop()
