"""A real git server over HTTP: `git http-backend` behind a small server on loopback."""

import json
import os
import subprocess
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


@contextmanager
def serve_git(folder: Path, forge: Any = None) -> Iterator[tuple[str, list[str]]]:
    """Serve the bare repositories in the folder; yields the address, and a list that gets each request. With a stand-in of a forge that
    has an App, its API is at the same address, and git has to log in as the App.
    """
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def date_time_string(self, timestamp: float | None = None) -> str:
            return super().date_time_string(forge.tell_time() if forge else timestamp)

        def handle_any(self) -> None:
            url = urlsplit(self.path)
            seen.append(f"{self.command} {url.path}")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if forge is not None and ".git/" not in url.path:
                with forge.state.lock:
                    status, headers, answer = forge.answer(
                        self.command, self.path, self.headers, body
                    )
                content = b"" if answer is None else json.dumps(answer).encode()
                self._reply(status, headers, content)
                return
            if forge is not None and not self._is_admitted(url.path + url.query):
                self._reply(401, {"WWW-Authenticate": 'Basic realm="GitHub"'}, b"")
                return
            env = {
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(folder), "GIT_HTTP_EXPORT_ALL": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
                "REQUEST_METHOD": self.command, "PATH_INFO": url.path, "QUERY_STRING": url.query, "REMOTE_USER": "ann",
                "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }  # fmt: skip
            done = subprocess.run(
                ["git", "http-backend"], input=body, env=env, capture_output=True, check=True
            )
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self._reply(int(fields.pop("Status", "200").split()[0]), fields, content)

        def _is_admitted(self, target: str) -> bool:
            kind, _, told = self.headers.get("Authorization", "").partition(" ")
            name, _, password = b64decode(told).decode().partition(":")
            writes = "receive-pack" in target
            return kind == "Basic" and forge.state.app.admits_git(name, password, writes=writes)

        def _reply(self, status: int, headers: dict[str, str], content: bytes) -> None:
            self.send_response(status)
            for name, value in (headers | {"Content-Length": str(len(content))}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
