"""A real PostgreSQL server for tests: a cluster of its own in a temporary folder, on loopback."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER = "punchlist"
_AS = "postgres"
"""The server refuses to run as root; Debian's package makes this user."""


def find_programs() -> Path | None:
    """Return the folder of initdb and pg_ctl, newest version first; None if there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version, reverse=True)
    if found:
        return found[0].parent
    plain = shutil.which("initdb")
    return Path(plain).resolve().parent if plain else None


def _version(path: Path) -> int:
    name = path.parent.parent.name
    return int(name) if name.isdigit() else 0


class PostgresServer:
    """A server in a folder of its own, which can be killed and started again."""

    def __init__(self, programs: Path, folder: Path, *, durable: bool) -> None:
        self._programs = programs
        self._data, self._log, port = folder / "data", folder / "log", _free_port()
        if os.getuid() == 0:
            shutil.chown(folder, _AS)
        _run(
            *(programs / "initdb", "-D", self._data, "-U", USER, "-A", "trust", "-E", "UTF8"),
            "--no-sync",
        )
        self._options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories='' -c max_connections=200"
        if not durable:
            self._options += " -c fsync=off -c full_page_writes=off"
        self.url = f"postgresql://{USER}@127.0.0.1:{port}"

    def start(self) -> None:
        self._control("-l", self._log, "-o", self._options, "start")

    def stop(self) -> None:
        """End it as a crash does."""
        self._control("-m", "immediate", "stop")

    def _control(self, *words: object) -> None:
        _run(self._programs / "pg_ctl", "-D", self._data, "-w", *words)

    def make_database(self, name: str) -> str:
        """Make an empty database; return its URL."""
        import psycopg

        with psycopg.connect(f"{self.url}/postgres", autocommit=True) as base:
            base.execute(f'CREATE DATABASE "{name}"')
        return f"{self.url}/{name}"


@contextmanager
def start_server(*, durable: bool = False) -> Iterator[PostgresServer]:
    """Run a server in a folder of its own; `durable`, as in use, it would survive a loss of power."""
    programs = find_programs()
    assert programs, "PostgreSQL is missing: apt-get install postgresql"
    with tempfile.TemporaryDirectory(prefix="punchlist-postgres-") as name:
        server = PostgresServer(programs, Path(name), durable=durable)
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def run_server(*, durable: bool = False) -> Iterator[str]:
    """Run a server; yield its URL without the name of a database."""
    with start_server(durable=durable) as server:
        yield server.url


def _run(*command: object) -> None:
    change = ["setpriv", f"--reuid={_AS}", f"--regid={_AS}", "--clear-groups"]
    prefix = change if os.getuid() == 0 else []
    ran = subprocess.run(
        [*prefix, *map(str, command)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
