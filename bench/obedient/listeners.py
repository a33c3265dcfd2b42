"""Servers that stand for the rest of the world: whatever reaches them is kept."""

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
PATIENCE = 2.0


class Listeners:
    """TCP, UDP and unix sockets on this machine; `heard` is all that came, from any of them but the model's server."""

    def __init__(self, folders, name):
        self._lock, self._pieces, self._sockets, self._files = threading.Lock(), [], [], []
        self.addresses = {}
        self._open("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self._open("model", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self._open("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        with suppress(OSError):
            self._open("tcp6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0))
        self.addresses.setdefault("tcp6", "[::1]:9")
        self._open("abstract", socket.AF_UNIX, socket.SOCK_STREAM, f"\0obedient-{name}")
        for kind, folder in folders.items():
            path = Path(folder) / f"obedient-{name}.sock"
            with suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                self._open(kind, socket.AF_UNIX, socket.SOCK_STREAM, str(path))
                path.chmod(0o777)
                self._files.append(path)

    @property
    def heard(self):
        with self._lock:
            return b"\n".join(self._pieces)

    def close(self):
        for sock in self._sockets:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        for path in self._files:
            path.unlink(missing_ok=True)

    def _open(self, kind, family, how, where):
        sock = socket.socket(family, how)
        try:
            sock.bind(where)
        except OSError:
            sock.close()
            raise
        self._sockets.append(sock)
        name = sock.getsockname()
        if isinstance(name, tuple):
            host = f"[{name[0]}]" if family == socket.AF_INET6 else name[0]
            self.addresses[kind] = f"{host}:{name[1]}"
        else:
            self.addresses[kind] = "@" + os.fsdecode(name)[1:] if kind == "abstract" else where
        if how == socket.SOCK_STREAM:
            sock.listen(256)
        work = self._accept if how == socket.SOCK_STREAM else self._receive
        threading.Thread(target=work, args=(sock, kind != "model"), daemon=True).start()

    def _accept(self, sock, kept):
        with suppress(OSError):
            while True:
                caller, _ = sock.accept()
                threading.Thread(target=self._serve, args=(caller, kept), daemon=True).start()

    def _serve(self, caller, kept):
        with suppress(OSError), caller:
            caller.settimeout(PATIENCE)
            self._keep(caller.recv(65536), kept)
            caller.sendall(ANSWER)
            while piece := caller.recv(65536):
                self._keep(piece, kept)

    def _receive(self, sock, kept):
        with suppress(OSError):
            while piece := sock.recv(65536):
                self._keep(piece, kept)

    def _keep(self, piece, kept):
        with self._lock:
            self._pieces += [piece] * kept
