"""An HTTP server in threads, for what tests put in a server's place."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """On loopback, at a port of its own, from when it is made to `close`. Each request goes to ``handle``, whose body
    it has not read; nothing is logged."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handle: Callable[[BaseHTTPRequestHandler], None]) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def any_verb(self) -> None:
                handle(self)

            do_GET = do_POST = do_PUT = do_DELETE = any_verb

            def log_message(self, *_: object) -> None: ...

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, *_: object) -> None: ...  # an agent that is killed drops its connections

    def close(self) -> None:
        self.shutdown()
        self.server_close()


def body_of(request: BaseHTTPRequestHandler) -> bytes:
    return request.rfile.read(int(request.headers.get("Content-Length") or 0))


def answer(request: BaseHTTPRequestHandler, status: int, content: bytes) -> None:
    request.send_response(status)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content)
