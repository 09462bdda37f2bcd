"""A real HTTP server whose answers a test chooses, one after the other."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Listener:
    """``answers`` are used up one a request, the last one stays: a status, (status, body), or "close"."""

    def __init__(self) -> None:
        self.answers: list[object] = [200]
        self.requests: list[tuple[str, str, bytes]] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                listener.requests.append((self.command, self.path, body))
                answer = listener.answers.pop(0) if len(listener.answers) > 1 else listener.answers[0]
                if answer == "close":
                    self.close_connection = True
                    return
                status, content = answer if isinstance(answer, tuple) else (answer, b"no comment")
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_POST = answer

            def log_message(self, *_: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()
