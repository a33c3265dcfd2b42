"""Servers as people start them: in a process of their own, on loopback, with tokens."""

import os
import signal
import subprocess
import time
from contextlib import closing
from pathlib import Path

import httpx

import warm
from punchlist.app.access import Role
from punchlist.app.stores import open_state
from punchlist.web.security.tokens import Tokens

SOURCE = Path(__file__).parents[2] / "src"
QUICK = ("--set", "analyzers.enabled=ruff", "--set", "analyzers.select=E,F,B,UP")


class Site:
    """A punchlist server, which can be stopped, killed and started again at the same port."""

    def __init__(self, folder: Path, store: str = "") -> None:
        self.folder = folder
        self.home = folder / "state"
        self.store = store
        self.port = 0
        self.log = folder / "serve.log"
        (folder / "settings.toml").touch()
        with closing(open_state(store, self.home)) as state:
            tokens = Tokens(state.access)
            self.tokens = {role.value: tokens.create_token(role, f"{role}er") for role in Role}
        self._process: subprocess.Popen[bytes] | warm.WarmProcess | None = None

    def punchlist(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = warm.command(*arguments)
        return subprocess.run(
            command, env=self.env, capture_output=True, text=True, check=False, timeout=60
        )

    @property
    def env(self) -> dict[str, str]:
        own = {
            "PUNCHLIST_HOME": str(self.home),
            "PUNCHLIST_STORE": self.store,
            "PUNCHLIST_CONFIG": str(self.folder / "settings.toml"),
            "HOME": str(self.folder),
        }
        return {**os.environ, **own, "PYTHONPATH": f"{SOURCE}:{os.environ.get('PYTHONPATH', '')}"}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, *more: str) -> "Site":
        begin = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            arguments = ("serve", "--port", str(self.port), *(more or QUICK))
            self._process = warm.start(
                *arguments, env=self.env, stdout=log, stderr=log, cwd=self.folder
            )
        until = time.monotonic() + 60
        while time.monotonic() < until:
            said = self.log.read_bytes()[begin:].decode()
            if "listening on" in said and "stops it\n" in said:
                self.port = int(said.split("listening on ")[1].split()[0].rpartition(":")[2])
                return self._answering(until)
            assert self._process.poll() is None, said
            time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def adopt(self, process: subprocess.Popen[bytes]) -> None:
        """A server that was started in another way, and is ended like any other."""
        self._process = process

    def _answering(self, until: float) -> "Site":
        while time.monotonic() < until:
            try:
                httpx.get(f"{self.address}/api/health", trust_env=False).raise_for_status()
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                return self
        raise AssertionError(self.log.read_text())

    def end(self, number: int = signal.SIGINT) -> int:
        code = 0
        if self._process is not None:
            self._process.send_signal(number)
            code = self._process.wait(timeout=30)
            self._process = None
        return code

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def client(self, role: str = "admin", **more) -> httpx.Client:
        headers = {"authorization": f"Bearer {self.tokens[role]}"} if role else {}
        return httpx.Client(
            base_url=self.address, headers=headers, timeout=60, trust_env=False, **more
        )

    def register(self, root: Path) -> str:
        with self.client() as client:
            answer = client.post("/api/repositories", json={"path": str(root)})
            assert answer.status_code == 201, answer.text
            return str(answer.json()["id"])
