"""What agents would be asked, without asking any: the run is played up to the first fix, in memory,
and thrown away.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace as with_
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist.app.session import Session
from punchlist.app.start import wiring
from punchlist.app.start.agents import prompts
from punchlist.app.start.request import Prepared
from punchlist.engine import Engine, Limits, Watcher
from punchlist.model.ledger.events import AnyEvent, Entry, Started
from punchlist.model.ledger.fold import folded
from punchlist.model.ledger.run_row import RunRow
from punchlist.ports.agent import Ask, Hear, Reply
from punchlist.roles.crew import crew
from punchlist.steps import plan
from punchlist.workflow import Do, Repeat, Workflow

_AHEAD = frozenset({"review", "consolidate", "clarify", "plan", "fix"})


class Prompt(Struct, frozen=True):
    """What a role would be asked."""

    role: str
    text: str


class _Listener:
    """An agent that is told everything and answers nothing."""

    name = "nobody"

    def __init__(self) -> None:
        self.heard: list[Prompt] = []

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        self.heard.append(Prompt(ask.role, ask.prompt))
        return Reply(agent=self.name, failed="dry run: no agent was asked")


class _Memory:
    """A ledger for as long as the rehearsal lasts."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def append(self, run: str, place: str, key: str, event: AnyEvent, at: float) -> Entry:
        self._entries.append(
            Entry(run=run, seq=len(self._entries) + 1, at=at, place=place, key=key, event=event)
        )
        return self._entries[-1]

    def read(self, run: str, after: int = 0) -> Iterator[Entry]:
        return iter(self._entries[after:])

    def runs(self, repository: str = "") -> Sequence[RunRow]:
        return ()


async def rehearse_run(session: Session, ready: Prepared, watcher: Watcher) -> list[Prompt]:
    """The prompts, in the order in which they would be asked. No agent, analyzer or check runs;
    nothing is written down.
    """
    if not ready.crew:
        return []
    workshop = await session.workshop()
    listener, memory = _Listener(), _Memory()
    started = replace(
        ready.started(session.repository),
        reviewers=(),
        document_files=tuple(f"findings-{index}" for index in range(len(ready.documents))),
    )
    with tempfile.TemporaryDirectory(prefix="punchlist-rehearsal-") as name:
        folder = _folder(Path(name), ready, started)
        begun = memory.append("dry-run", "start", "started", started, time.time())
        run = folded("dry-run", (begun,))
        world = wiring.world(workshop, run, replace(started, crew={}), session.store, folder)
        settings = ready.loaded.settings
        played = crew(
            dict.fromkeys(ready.crew, listener), prompts(settings), settings.agents.prompt_limit
        )
        await Engine(
            _ahead(ready.workflow), with_(world, crew=played), memory, Limits(width=1), watcher
        ).drive(run)
    return listener.heard


def _folder(root: Path, ready: Prepared, started: Started) -> Path:
    """Where the rehearsed run has its files: copies of the findings it was given."""
    folder = root / "runs" / "dry-run"
    folder.mkdir(parents=True)
    for path, file in zip(ready.documents.values(), started.document_files, strict=True):
        shutil.copyfile(path, folder / file)
    return folder


def _unasked(step: Do) -> Do:
    """Nobody is there to say yes to a plan."""
    return (
        replace(step, options=replace(step.options, ask=False))
        if isinstance(step.options, plan.Options)
        else step
    )


def _ahead(workflow: Workflow) -> Workflow:
    """The steps up to the first that fixes; what asks agents about what comes after cannot be
    known.
    """
    steps: list[Do] = []
    for step in workflow.steps:
        body = step.steps if isinstance(step, Repeat) else (step,)
        for each in body:
            if isinstance(each, Do) and each.verb in _AHEAD:
                steps.append(_unasked(each))
            if isinstance(each, Do) and each.verb == "fix":
                return replace(workflow, steps=tuple(steps))
    return replace(workflow, steps=tuple(steps))
