"""A real git server over HTTP: `git http-backend` behind a small server on loopback."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


@contextmanager
def serve_git(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve the bare repositories in the folder; yields the address, and a list that gets each request."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def handle_any(self) -> None:
            url = urlsplit(self.path)
            seen.append(f"{self.command} {url.path}")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
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
            self.send_response(int(fields.pop("Status", "200").split()[0]))
            for name, value in (fields | {"Content-Length": str(len(content))}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = handle_any  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
