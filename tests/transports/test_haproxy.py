"""The long poll through a real HAProxy with TLS and usual time-outs: what it cuts off is an empty poll, and a restart
of it loses nothing."""

import ipaddress
import shutil
import signal
import socket
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HAPROXY = shutil.which("haproxy") or "/usr/sbin/haproxy"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path(HAPROXY).exists(), reason="haproxy is not installed")]

CONFIGURATION = """
global
    log stderr format raw local0
defaults
    mode http
    log global
    option httplog
    timeout connect 5s
    timeout client 30s
    timeout server {server}s
frontend guests
    bind 127.0.0.1:{port} ssl crt {certificate}
    default_backend calor
backend calor
    server one 127.0.0.1:{backend}
"""


def certificate(folder: Path) -> tuple[Path, Path]:
    """(what HAProxy serves with, what a guest trusts): a certificate of its own for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "haproxy")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    both, public = folder / "both.pem", folder / "public.pem"
    both.write_bytes(secret + pem)
    public.write_bytes(pem)
    return both, public


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Proxy:
    """One HAProxy in front of a server."""

    def __init__(self, folder: Path, backend: int, seconds: int) -> None:
        self.folder, self.port = folder, free_port()
        both, self.authority = certificate(folder)
        self.file = folder / "haproxy.cfg"
        values = {"port": self.port, "backend": backend, "certificate": both, "server": seconds}
        self.file.write_text(CONFIGURATION.format(**values))
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        with (self.folder / "haproxy.log").open("ab") as log:
            process = subprocess.Popen([HAPROXY, "-db", "-f", str(self.file)], stdout=log, stderr=log)
        until = time.monotonic() + 20
        while not self._answers():
            assert process.poll() is None and time.monotonic() < until, self.log()
            time.sleep(0.05)
        return process

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def restart(self) -> None:
        """All connections are cut, as by a reload that does not wait."""
        self.stop()
        self.process = self._start()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)

    def log(self) -> str:
        return (self.folder / "haproxy.log").read_text()


@pytest.mark.parametrize("seconds", [60, 8])
def test_the_long_poll_goes_through_haproxy(
    desk: Any, config: Any, server_properties: dict[str, Any], tmp_path: Path, stopped: list[Any], seconds: int
) -> None:
    """With a usual time-out, and with one far below the length of a poll: then each is cut off by a 504."""
    server = {"type": "OS::Nova::Server", "properties": server_properties}
    used = {"config": {"get_resource": "config"}, "server": {"get_resource": "server"}}
    config["properties"]["config"] = "#!/bin/sh\nprintf 'through haproxy' > $heat_outputs_path.said\n"
    resources = {"server": server, "config": config}
    name = f"behind{seconds}"
    desk.create(name, resources, wait=True)
    backend = int(str(desk.cloud.ready["orchestration"]).rpartition(":")[2])
    proxy = Proxy(tmp_path, backend, seconds)
    stopped.append(proxy)
    trust = {"ca_certificate": proxy.authority.read_text()}
    agent = desk.agent(tmp_path, name, f"https://127.0.0.1:{proxy.port}", locale="C", **trust)
    stopped.append(agent)
    desk.until(lambda: "POST /guest/v1/instances/" in proxy.log(), 60)
    if seconds < 25:
        desk.until(lambda: " 504 " in proxy.log(), 60)
    proxy.restart()
    deployment = {"type": "OS::Heat::SoftwareDeployment", "properties": used}
    outputs = {"said": {"value": {"get_attr": ["deployment", "said"]}}}
    began = time.monotonic()
    desk.update(name, {**resources, "deployment": deployment}, outputs=outputs)
    assert desk.reached(name, "UPDATE_COMPLETE") == {"said": "through haproxy"}
    assert time.monotonic() - began < 45
    assert "NotEnrolled" not in agent.out.read_text()
