"""One HTTP/1.1 request over a socket of our own, bounded in time and size.

``http.client`` and ``urllib.request`` are left alone on purpose: they have no bound on the whole exchange (a server
that sends a byte a second holds them for ever) and cost an idle agent several megabytes.
"""

import socket
import time
from typing import Any, BinaryIO, Dict, NamedTuple, Optional, Tuple
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from calor.cfntools import proxies, tls

USER_AGENT = "calor-guest/0.1"
CONNECT_TIMEOUT = 10.0
MAX_BODY = 32 * 1024 * 1024
MAX_HEAD = 64 * 1024
REDIRECTS = (301, 302, 303, 307, 308)


class TransportError(Exception):
    """No whole answer came: the name, the connection, TLS or the time ran out. Worth another try."""


class Answer(NamedTuple):
    """A whole HTTP answer; header names are lower case."""

    status: int
    headers: Dict[str, str]
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


class Sink(NamedTuple):
    """Where the body of a success goes instead of into memory, and how many bytes of it."""

    target: BinaryIO
    limit: int


def request(
    method: str,
    url: str,
    body: Optional[bytes] = None,
    headers: Optional[Dict[str, str]] = None,
    timeout: float = 30.0,
    trust: tls.Trust = tls.DEFAULT,
    sink: Optional[Sink] = None,
    follow: bool = True,
) -> Answer:
    """Send one request and read its whole answer within ``timeout`` seconds; redirects are followed unless told not to
    ``follow``. With a ``sink`` the body of a success is written there and empty in the answer."""
    deadline = time.monotonic() + timeout
    sent = dict(headers or {})
    for _ in range(5):
        try:
            answer = _exchange(method, urlsplit(url), body, sent, deadline, trust, sink)
        except (OSError, ValueError, UnicodeError) as exc:
            raise TransportError("{} {}: {}".format(method, _shown(url), exc or type(exc).__name__)) from exc
        target = answer.headers.get("location")
        if answer.status not in REDIRECTS or not target or not follow:
            return answer
        if method not in ("GET", "HEAD") and answer.status not in (307, 308):
            return answer
        there = urljoin(url, target)
        if urlsplit(there)[:2] != urlsplit(url)[:2]:
            sent.pop("Authorization", None)
        url = there
    raise TransportError("{} {}: too many redirects".format(method, _shown(url)))


def _shown(url: str) -> str:
    """The address without its query (signed URLs carry credentials there) and user."""
    parts = urlsplit(url)
    return "{}://{}{}".format(parts.scheme, parts.netloc.rpartition("@")[2], parts.path)


def _exchange(
    method: str,
    url: SplitResult,
    body: Optional[bytes],
    headers: Dict[str, str],
    deadline: float,
    trust: tls.Trust,
    sink: Optional[Sink],
) -> Answer:
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError("not an http(s) address")
    proxy = proxies.proxy_for(url.scheme, url.hostname)
    sock = _connect(url, proxy, deadline, trust)
    try:
        target = (url.path or "/") + ("?" + url.query if url.query else "")
        if proxy is not None and url.scheme == "http":
            target = "http://{}{}".format(url.netloc.rpartition("@")[2], target)
        _send(sock, _head(method, target, url, proxy, body, headers) + (body or b""), deadline)
        return _Reader(sock, deadline).answer(method, sink)
    finally:
        sock.close()


def _head(
    method: str,
    target: str,
    url: SplitResult,
    proxy: Optional[SplitResult],
    body: Optional[bytes],
    headers: Dict[str, str],
) -> bytes:
    lines = {"Host": url.netloc.rpartition("@")[2], "User-Agent": USER_AGENT, "Accept": "*/*", "Connection": "close"}
    if body is not None or method in ("POST", "PUT"):
        lines["Content-Length"] = str(len(body or b""))
    if proxy is not None and url.scheme == "http":
        lines.update(proxies.authorisation(proxy))
    if url.username is not None:
        lines["Authorization"] = proxies.basic(unquote(url.username), unquote(url.password or ""))
    lines.update(headers)
    text = "{} {} HTTP/1.1\r\n".format(method, target) + "".join("{}: {}\r\n".format(*item) for item in lines.items())
    if text.count("\r\n") != len(lines) + 1 or text.count("\n") != len(lines) + 1:
        raise ValueError("line break in an address or header")
    return (text + "\r\n").encode("latin-1")


def _connect(url: SplitResult, proxy: Optional[SplitResult], deadline: float, trust: tls.Trust) -> Any:
    host, port = str(url.hostname), url.port or (443 if url.scheme == "https" else 80)
    sock = _open(host, port, deadline) if proxy is None else _open(str(proxy.hostname), proxy.port or 3128, deadline)
    try:
        if url.scheme == "http":
            return sock
        if proxy is not None:
            _tunnel(sock, host, port, proxy, deadline)
        sock.settimeout(_left(deadline))
        return trust.wrap(sock, host)
    except BaseException:
        sock.close()
        raise


def _open(host: str, port: int, deadline: float) -> socket.socket:
    """Connect to the first address that answers; one that does not costs at most its share of the time."""
    failure = OSError("no address for {}".format(host))
    for family, kind, proto, _, address in socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM):
        sock = socket.socket(family, kind, proto)
        try:
            sock.settimeout(min(CONNECT_TIMEOUT, _left(deadline)))
            sock.connect(address)
        except OSError as exc:
            sock.close()
            failure = exc
        else:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
    raise failure


def _tunnel(sock: socket.socket, host: str, port: int, proxy: SplitResult, deadline: float) -> None:
    there = "{}:{}".format("[{}]".format(host) if ":" in host else host, port)
    lines = {"Host": there, "User-Agent": USER_AGENT}
    lines.update(proxies.authorisation(proxy))
    text = "CONNECT {} HTTP/1.1\r\n".format(there) + "".join("{}: {}\r\n".format(*item) for item in lines.items())
    _send(sock, (text + "\r\n").encode("latin-1"), deadline)
    status, _ = _Reader(sock, deadline).head()
    if status != 200:
        raise OSError("proxy {} answered {} to CONNECT".format(proxy.hostname, status))


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise socket.timeout("timed out")
    return left


def _send(sock: Any, data: bytes, deadline: float) -> None:
    view = memoryview(data)
    while view:
        sock.settimeout(_left(deadline))
        view = view[sock.send(view[:65536]) :]


class _Reader:
    """Reads one answer from a socket; every read counts against the deadline."""

    def __init__(self, sock: Any, deadline: float) -> None:
        self._sock = sock
        self._deadline = deadline
        self._buffer = bytearray()

    def answer(self, method: str, sink: Optional[Sink] = None) -> Answer:
        status, headers = self.head()
        while 100 <= status < 200:
            status, headers = self.head()
        if method == "HEAD" or status in (204, 304):
            return Answer(status, headers, b"")
        body = _Body(sink if 200 <= status < 300 else None)
        if "chunked" in headers.get("transfer-encoding", "").lower():
            self._chunks(body)
        elif "content-length" in headers:
            self._exactly(int(headers["content-length"]), body)
        else:
            while True:
                body.add(self._taken(len(self._buffer)))
                if not self._more():
                    break
        return Answer(status, headers, bytes(body.kept))

    def head(self) -> Tuple[int, Dict[str, str]]:
        words = self._line().split(None, 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1."):
            raise ValueError("the answer is not HTTP/1.1")
        headers: Dict[str, str] = {}
        while True:
            line = self._line()
            if not line:
                return int(words[1]), headers
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()

    def _more(self) -> bool:
        self._sock.settimeout(_left(self._deadline))
        data = self._sock.recv(65536)
        self._buffer += data
        return bool(data)

    def _taken(self, count: int) -> bytes:
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def _line(self) -> str:
        while b"\n" not in self._buffer:
            if len(self._buffer) > MAX_HEAD:
                raise ValueError("the answer's header is larger than {} bytes".format(MAX_HEAD))
            if not self._more():
                raise ConnectionError("the connection was closed before the answer")
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return line.rstrip(b"\r").decode("latin-1")

    def _exactly(self, count: int, body: "_Body") -> None:
        body.expect(count)
        while count > 0:
            if not self._buffer and not self._more():
                raise ConnectionError("the connection was closed in the middle of the answer")
            data = self._taken(count)
            count -= len(data)
            body.add(data)

    def _chunks(self, body: "_Body") -> None:
        while True:
            size = int(self._line().split(";")[0], 16)
            if size == 0:
                return
            self._exactly(size, body)
            self._line()


class _Body:
    """A body as it comes, bounded: in memory (``kept``), or in a sink."""

    def __init__(self, sink: Optional[Sink]) -> None:
        self.kept = bytearray()
        self._sink = sink
        self._left = MAX_BODY if sink is None else sink.limit

    def expect(self, count: int) -> None:
        """Raises ValueError for a length that is out of bounds, before anything of it is read."""
        if not 0 <= count <= self._left:
            raise ValueError("the answer's length {} is out of bounds".format(count))

    def add(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            raise ValueError("the answer is too large")
        if self._sink is None:
            self.kept += data
        else:
            self._sink.target.write(data)
