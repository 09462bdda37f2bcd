"""One request is bounded in time and size, whatever the other side does."""

import hashlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from calor.cfntools import httpclient, init, tls

Serve = Callable[..., int]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a TCP server that hands each connection, with the request read, to a function; gives its port."""
    sockets: list[socket.socket] = []
    ending = threading.Event()

    def start(answer: Callable[[socket.socket, bytes], None], context: ssl.SSLContext | None = None) -> int:
        listening = socket.create_server(("127.0.0.1", 0))
        listening.settimeout(0.1)
        sockets.append(listening)

        def work() -> None:
            while not ending.is_set():
                try:
                    connection, _ = listening.accept()
                except TimeoutError:
                    continue
                except OSError:
                    return
                with connection:
                    connection.settimeout(5)
                    try:
                        wrapped = context.wrap_socket(connection, server_side=True) if context else connection
                        with wrapped:
                            answer(wrapped, wrapped.recv(65536))
                    except OSError:
                        continue

        threading.Thread(target=work, daemon=True).start()
        return int(listening.getsockname()[1])

    yield start
    ending.set()
    time.sleep(0.12)
    for one in sockets:
        one.close()


def plain(content: bytes) -> Callable[[socket.socket, bytes], None]:
    return lambda connection, _: connection.sendall(content)


@pytest.mark.parametrize(
    "content",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ],
)
def test_bodies_by_length_by_chunks_and_to_the_end(serve, content):
    answer = httpclient.request("GET", f"http://127.0.0.1:{serve(plain(content))}/")
    assert (answer.status, answer.body) == (200, b"hello")


@pytest.mark.parametrize(
    "content",
    [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", b"SSH-2.0\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b"],
)
def test_a_cut_or_foreign_answer_is_a_transport_error(serve, content):
    with pytest.raises(httpclient.TransportError):
        httpclient.request("GET", f"http://127.0.0.1:{serve(plain(content))}/?secret=1")


def test_f059_a_byte_now_and_then_does_not_hold_a_request(serve):
    def dribble(connection: socket.socket, _: bytes) -> None:
        for _number in range(50):
            connection.sendall(b"H")
            time.sleep(0.1)

    port = serve(dribble)
    begun = time.monotonic()
    with pytest.raises(httpclient.TransportError):
        httpclient.request("GET", f"http://127.0.0.1:{port}/", timeout=0.5)
    assert time.monotonic() - begun < 1.5


def test_redirects_are_followed_without_the_token_to_another_host(serve):
    seen: list[bytes] = []

    def last(connection: socket.socket, request: bytes) -> None:
        seen.append(request)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    there = f"http://127.0.0.1:{serve(last)}/there"
    here = serve(plain(f"HTTP/1.1 302 Found\r\nLocation: {there}\r\nContent-Length: 0\r\n\r\n".encode()))
    assert httpclient.request("GET", f"http://127.0.0.1:{here}/", headers={"Authorization": "Bearer t"}).status == 200
    assert seen[0].startswith(b"GET /there HTTP/1.1")
    assert b"Bearer" not in seen[0]


def test_http_goes_through_the_proxy_of_the_environment(serve, monkeypatch):
    seen: list[bytes] = []

    def proxy(connection: socket.socket, request: bytes) -> None:
        seen.append(request)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    monkeypatch.setenv("http_proxy", f"http://me:pw@127.0.0.1:{serve(proxy)}")
    httpclient.request("GET", "http://calor.example:8004/x?y=1")
    assert seen[0].startswith(b"GET http://calor.example:8004/x?y=1 HTTP/1.1\r\nHost: calor.example:8004\r\n")
    assert b"Proxy-Authorization: Basic bWU6cHc=" in seen[0]
    monkeypatch.setenv("no_proxy", ".example")
    with pytest.raises(httpclient.TransportError):
        httpclient.request("GET", "http://calor.example:8004/x", timeout=2)


def test_a_line_break_in_a_header_is_refused():
    with pytest.raises(httpclient.TransportError):
        httpclient.request("GET", "http://127.0.0.1:9/", headers={"X": "a\r\nEvil: b"})


@pytest.fixture
def certificate(tmp_path):
    """A self-signed certificate for localhost: PEM file and server context."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    signed = builder.sign(key, hashes.SHA256())
    path = tmp_path / "cert.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    both = tmp_path / "both.pem"
    both.write_bytes(path.read_bytes() + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    digest = hashlib.sha256(signed.public_bytes(serialization.Encoding.DER)).hexdigest()
    return path, context, digest


def test_tls_trusts_a_private_authority_or_a_pinned_certificate_and_nothing_else(serve, certificate):
    path, context, digest = certificate
    port = serve(plain(b"HTTP/1.1 204 No Content\r\n\r\n"), context)
    url = f"https://localhost:{port}/"
    for trust in (
        tls.Trust(str(path)),
        tls.Trust(path.read_text()),
        tls.Trust(pinned=digest),
        tls.Trust(insecure=True),
    ):
        assert httpclient.request("GET", url, trust=trust).status == 204
    for trust in (tls.DEFAULT, tls.Trust(pinned="0" * 64)):
        with pytest.raises(httpclient.TransportError):
            httpclient.request("GET", url, trust=trust)
    with pytest.raises(httpclient.TransportError):
        httpclient.request("GET", f"https://127.0.0.1:{port}/", trust=tls.Trust(str(path)))


@pytest.mark.parametrize("account", ["", "basic", "s3"])
def test_what_cfn_init_fetches_trusts_the_authority_that_overrides(serve, certificate, tmp_path, monkeypatch, account):
    path, context, _ = certificate
    port = serve(plain(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), context)
    wanted = {"source": f"https://localhost:{port}/x", "authentication": account}
    accounts = {
        "basic": {"type": "basic", "username": "u", "password": "p"},
        "s3": {"type": "S3", "accessKeyId": "k", "secretKey": "s"},
    }
    config = {"config": {"files": {str(tmp_path / "fetched"): wanted}}}
    document = {"AWS::CloudFormation::Init": config, "AWS::CloudFormation::Authentication": accounts}
    (tmp_path / "m.json").write_text(json.dumps(document))
    monkeypatch.setenv("CALOR_ROOT", str(tmp_path))
    assert init.main([str(tmp_path / "m.json")]) == 1
    (tmp_path / "etc/cfn").mkdir(parents=True)
    path.rename(tmp_path / "etc/cfn/ca-override.pem")
    assert init.main([str(tmp_path / "m.json")]) == 0
    assert (tmp_path / "fetched").read_text() == "ok"
