"""Listening: sockets bound before anything slow is made, TLS, and a stop that lets answers finish."""

import errno
import logging
import resource
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from calor.server.config import Listener

log = logging.getLogger(__name__)

_BACKLOG = 4096
_SHUTDOWN_SECONDS = 3.0


class ListenFault(Exception):
    """A listener that cannot be opened; one line with what to do."""


@dataclass(frozen=True)
class Bound:
    """A listening socket, not yet served."""

    socket: socket.socket
    tls: ssl.SSLContext | None

    @property
    def port(self) -> int:
        port: int = self.socket.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """The address for clients on this machine."""
        host = self.socket.getsockname()[0]
        shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - shown, not listened at
        return f"{'https' if self.tls else 'http'}://{f'[{shown}]' if ':' in shown else shown}:{self.port}"


def bind(listener: Listener, section: str) -> Bound:
    """Take the port. Raises `ListenFault`."""
    _allow_files()
    secured = tls(listener, section)
    host, port = listener.bind_host, listener.bind_port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        taken = socket.create_server(
            (host, port), family=family, backlog=_BACKLOG, dualstack_ipv6=host == "::" and socket.has_dualstack_ipv6()
        )
    except OSError as exc:
        where = f"{host} port {port}"
        if exc.errno == errno.EADDRINUSE:
            raise ListenFault(
                f"{where} is taken by another program: stop it, or set bind_port in [{section}] of calor.conf."
            ) from exc
        raise ListenFault(f"Cannot listen at {where} ([{section}]): {exc.strerror or exc}.") from exc
    return Bound(taken, secured)


def _allow_files() -> None:
    """Each agent that waits holds a connection: open as many as this process ever may, not the 1,024 of a shell."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        log.info("open files", extra={"before": soft, "now": hard})


def tls(listener: Listener, section: str) -> ssl.SSLContext | None:
    """The certificate that a listener shows; None where it has none. Raises `ListenFault`."""
    if not listener.cert_file and not listener.key_file:
        return None
    if not listener.cert_file or not listener.key_file:
        raise ListenFault(f"TLS of [{section}] needs both cert_file and key_file.")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(listener.cert_file, listener.key_file)
    except (OSError, ssl.SSLError) as exc:
        raise ListenFault(
            f"TLS of [{section}]: {listener.cert_file} and {listener.key_file} cannot be used: {exc}."
        ) from exc
    return context


@asynccontextmanager
async def serving(app: web.Application, bound: Bound) -> AsyncIterator[None]:
    """Serve the application on the socket inside the block; then let running answers finish for some seconds."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS, keepalive_timeout=75)
    await runner.setup()
    try:
        await web.SockSite(runner, bound.socket, ssl_context=bound.tls, backlog=_BACKLOG).start()
        log.info("listening", extra={"url": bound.url})
        yield
    finally:
        await runner.cleanup()
        bound.socket.close()
