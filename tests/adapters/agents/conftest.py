"""What tests of agents share: the real programs, a scripted model for them to talk to, and a place for them to live."""

import asyncio
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import realcli
from calculator import BUG, KEY
from msgspec.structs import replace
from stubmodel import StubModel

from punchlist.adapters.agents.cli_agent import AgentSetup, CliAgent
from punchlist.adapters.agents.dialect import AgentDialect
from punchlist.adapters.agents.home import AgentPlace
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.agents.spending import Spending
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.ports.agent import Ask, Reply


class Bench:
    """A real agent on a bench: a tree with a bug, a scripted model, and what is left afterwards."""

    def __init__(self, kind: str, dialect: AgentDialect, tree: Path, state: Path) -> None:
        self.tree, self.state = tree, state
        self.artifacts = FolderArtifacts(state / "run" / "artifacts")
        self.place = AgentPlace(
            folder=state / "run" / "agents", state=state, user=state.parent / "user"
        )
        self.settings = AgentSettings(command=realcli.command(kind), timeout=90, silence=60)
        self.heard: list[str] = []
        self.spending = Spending()
        self.tell: Callable[[Any], None] = lambda event: None
        self._kind, self._dialect = kind, dialect

    def agent(self, *, sandbox: bool = True, **settings: Any) -> CliAgent:
        seat = AgentSetup(
            self._kind,
            replace(self.settings, **settings),
            replace(self.place, sandbox=sandbox),
            self.artifacts,
            self.spending,
            self.tell,
        )
        return CliAgent(self._dialect, seat)

    def ask(
        self,
        prompt: str = "Fix add() in calc.py",
        *,
        sandbox: bool = True,
        settings: Any = None,
        **asked: Any,
    ) -> Reply:
        ask = Ask(
            **{
                "role": "fixer",
                "label": f"call-{time.monotonic_ns()}",
                "prompt": prompt,
                "folder": self.tree,
                **asked,
            }
        )
        reply = asyncio.run(
            self.agent(sandbox=sandbox, **(settings or {})).ask(ask, self.heard.append)
        )
        assert KEY not in self.transcript(reply)
        return reply

    def transcript(self, reply: Reply) -> str:
        content = self.artifacts.read(reply.transcript)
        assert content is not None
        return content.decode(errors="replace")

    @property
    def calc(self) -> str:
        return (self.tree / "calc.py").read_text()

    @property
    def changed(self) -> str:
        command = ["git", "status", "--porcelain", "--ignored"]
        return subprocess.run(
            command, cwd=self.tree, capture_output=True, text=True, check=True
        ).stdout

    def processes(self) -> dict[int, bytes]:
        """Command lines of processes that have to do with this bench: its folders are in their environment or arguments."""
        mark, found = str(self.state.parent).encode(), {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) != os.getpid():
                with suppress(OSError):
                    line = (folder / "cmdline").read_bytes()
                    if mark in line + (folder / "environ").read_bytes():
                        found[int(folder.name)] = line
        return found


@pytest.fixture
def bench(
    tmp_path: Path, make_repo: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Bench]]:
    """Makes a bench for a kind of agent; when the test ends nothing of it may be running."""
    benches: list[Bench] = []

    def made(kind: str, dialect: AgentDialect) -> Bench:
        for name in dialect.keys:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(dialect.keys[0], KEY)
        monkeypatch.setenv("PATH", f"{Path(realcli.node()).parent}{os.pathsep}{os.environ['PATH']}")
        repo = make_repo("state/trees/one")
        repo.commit({"calc.py": BUG, "README.md": "# calc\n"})
        benches.append(Bench(kind, dialect, repo.root, tmp_path / "state"))
        return benches[-1]

    yield made
    for each in benches:
        assert each.processes() == {}


@pytest.fixture
def scripted() -> Iterator[Callable[..., StubModel]]:
    """Starts scripted models: the steps of the main loop; side calls without tools get a word."""
    running: list[StubModel] = []

    def started(
        *steps: dict[str, Any], rules: list[dict[str, Any]] | None = None, **options: Any
    ) -> StubModel:
        main = {"name": "main", "match": {"has_tools": True}, "steps": list(steps), **options}
        side = {"name": "side", "steps": [{"text": "t"}]}
        running.append(
            StubModel({"rules": [*(rules or []), *([main] if steps else []), side]}).__enter__()
        )
        return running[-1]

    yield started
    for model in running:
        model.__exit__()
