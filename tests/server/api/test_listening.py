"""Sockets, TLS, and a stop that lets answers finish."""

import asyncio
import socket
import ssl
import subprocess
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from calor.server.api.serve import ListenFault, bind, serving
from calor.server.config import CfnListener, RestListener


async def hello(request: web.Request) -> web.Response:
    await asyncio.sleep(float(request.query.get("wait", "0")))
    return web.Response(text="hello")


@pytest.fixture
def app() -> web.Application:
    made = web.Application()
    made.router.add_get("/", hello)
    return made


async def get(url: str, **more: Any) -> str:
    async with aiohttp.ClientSession() as session, session.get(url, **more) as answer:
        return await answer.text()


async def test_a_free_port_is_taken_and_named(app: web.Application) -> None:
    bound = bind(RestListener(bind_host="127.0.0.1", bind_port=0), "heat_api")
    async with serving(app, bound):
        assert bound.url == f"http://127.0.0.1:{bound.port}"
        url = bound.url
        assert await get(url) == "hello"
    with pytest.raises(aiohttp.ClientConnectionError):
        await get(url)


def test_a_taken_port_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenFault) as fault:
            bind(CfnListener(bind_host="127.0.0.1", bind_port=port), "heat_api_cfn")
    assert str(fault.value) == (
        f"127.0.0.1 port {port} is taken by another program: stop it, or set bind_port in [heat_api_cfn] of calor.conf."
    )


def test_an_address_that_is_not_ours_is_named() -> None:
    with pytest.raises(ListenFault, match=r"203\.0\.113\.9"):
        bind(RestListener(bind_host="203.0.113.9", bind_port=0), "heat_api")


async def test_ipv6_and_ipv4_by_one_socket(app: web.Application) -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 here")
    bound = bind(RestListener(bind_host="::", bind_port=0), "heat_api")
    async with serving(app, bound):
        assert bound.url == f"http://[::1]:{bound.port}"
        assert await get(bound.url) == "hello"
        assert await get(f"http://127.0.0.1:{bound.port}") == "hello"


def certificate(folder: Path) -> tuple[Path, Path]:
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        (
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
            f"-addext subjectAltName=IP:127.0.0.1 -out {cert} -keyout {key}"
        ).split(),
        check=True,
        capture_output=True,
    )
    return cert, key


async def test_tls_with_a_certificate_of_our_own(app: web.Application, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    bound = bind(RestListener(bind_host="127.0.0.1", bind_port=0, cert_file=str(cert), key_file=str(key)), "heat_api")
    trusting = ssl.create_default_context(cafile=str(cert))
    async with serving(app, bound):
        assert bound.url.startswith("https://")
        assert await get(bound.url, ssl=trusting) == "hello"


@pytest.mark.parametrize(
    ("cert", "key"), [("/nowhere.pem", ""), ("", "/nowhere.pem"), ("/nowhere.pem", "/nowhere.pem")]
)
def test_half_or_missing_tls_is_named(cert: str, key: str) -> None:
    with pytest.raises(ListenFault, match=r"TLS of \[heat_api\]"):
        bind(RestListener(bind_host="127.0.0.1", bind_port=0, cert_file=cert, key_file=key), "heat_api")


async def test_a_stop_lets_a_running_answer_finish(app: web.Application) -> None:
    bound = bind(RestListener(bind_host="127.0.0.1", bind_port=0), "heat_api")
    async with serving(app, bound):
        answer = asyncio.create_task(get(f"{bound.url}/?wait=0.3"))
        await asyncio.sleep(0.1)
    assert await answer == "hello"
