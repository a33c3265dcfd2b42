"""What tests share: a real git repository, built in a folder of its own, with nothing of the machine's configuration."""

import asyncio
import os
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest


class Repo:
    """A small real repository. Dates count up from a fixed moment, so that commits have the same names on every machine."""

    def __init__(self, root: Path, *, init: bool = True) -> None:
        self.root = root
        self._ticks = 0
        root.mkdir(parents=True, exist_ok=True)
        if init:
            self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, cwd: Path | None = None, stdin: bytes = b"") -> str:
        self._ticks += 1
        date = f"{1_700_000_000 + self._ticks} +0000"
        env = {**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.root,
            env=env,
            input=stdin,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, f"git {arguments}: {os.fsdecode(done.stderr)}"
        return os.fsdecode(done.stdout).removesuffix("\n")

    def write(self, path: str, content: str | bytes = "", *, mode: int | None = None) -> Path:
        full = self.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(content if isinstance(content, bytes) else content.encode())
        if mode is not None:
            full.chmod(mode)
        return full

    def commit(self, files: dict[str, str | bytes] | None = None, message: str = "a change") -> str:
        """Writes the files, commits everything, and returns the commit."""
        for path, content in (files or {}).items():
            self.write(path, content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.head

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of our own and no git configuration; what the machine has must not decide a test."""
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_", "PUNCHLIST_"))]:
        monkeypatch.delenv(name)
    identity = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
    }
    for name, value in {
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        **identity,
    }.items():
        monkeypatch.setenv(name, value)
    return home


@pytest.fixture
def make_repo(tmp_path: Path, isolated: Path) -> Callable[..., Repo]:
    """Makes repositories by name, next to each other."""
    return lambda name="repo", **options: Repo(tmp_path / name, **options)


@pytest.fixture
def repo(make_repo: Callable[..., Repo]) -> Repo:
    """An empty repository on the branch main, without a commit."""
    return make_repo()


@pytest.fixture
def cancelled() -> Callable[["asyncio.Task[object]"], Awaitable[float]]:
    """Cancels a task and waits for its end; the seconds that took."""

    async def took(task: "asyncio.Task[object]") -> float:
        before = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - before

    return took


SLOW = (
    "journeys/",
    "hostile/",
    "cli/test_cli_run.py",
    "cli/test_cli_after.py",
    "cli/test_cli_terminal.py",
    "adapters/checks/test_sentinel.py",
)
"""Whole runs, real terminals and real test suites: `make test` runs them, `make fast` does not."""


SOAK = (
    "adapters/agents/test_copilot_real.py",
    "adapters/agents/test_agent_real.py[qwen",
    "adapters/agents/test_agent_real.py[no",  # without walls
    "adapters/agents/test_acp.py[opencode",
    "adapters/agents/test_acp.py[gemini",
    "bench/test_lies_behaviours.py",
)
"""The same stories with agents that come at little cost on top of the four that `make test` always runs: minutes, for `make soak`."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        name = item.path.relative_to(here).as_posix()
        if name.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
        marks = {f"{name}[{part}" for part in item.name.partition("[")[2].rstrip("]").split("-")}
        if name in SOAK or marks & set(SOAK):
            item.add_marker(pytest.mark.soak)
