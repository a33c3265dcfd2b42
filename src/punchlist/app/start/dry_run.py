"""Dry run: play a run in memory up to the first fix, and return the prompts."""

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
from punchlist.app.start.agents import load_prompts
from punchlist.app.start.request import Prepared
from punchlist.engine import Engine, Limits, Watcher
from punchlist.model.ledger.events import AnyEvent, Entry, Started
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run_row import RunRow
from punchlist.ports.agent import Ask, Hear, Reply
from punchlist.roles.crew import build_crew
from punchlist.steps import plan
from punchlist.workflow import Do, Repeat, Workflow

_AHEAD = frozenset({"review", "consolidate", "clarify", "plan", "fix"})


class Prompt(Struct, frozen=True):
    """The prompt that a role would get."""

    role: str
    text: str


class _PromptRecorder:
    """Agent that records prompts and fails."""

    name = "nobody"

    def __init__(self) -> None:
        self.heard: list[Prompt] = []

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        self.heard.append(Prompt(ask.role, ask.prompt))
        return Reply(agent=self.name, failed="dry run: no agent was asked")


class _MemoryStore:
    """Ledger in memory."""

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
    listener, memory = _PromptRecorder(), _MemoryStore()
    started = replace(
        ready.started(session.repository),
        reviewers=(),
        document_files=tuple(f"findings-{index}" for index in range(len(ready.documents))),
    )
    with tempfile.TemporaryDirectory(prefix="punchlist-rehearsal-") as name:
        folder = _make_folder(Path(name), ready, started)
        begun = memory.append("dry-run", "start", "started", started, time.time())
        run = fold_entries("dry-run", (begun,))
        world = wiring.build_world(workshop, run, replace(started, crew={}), session.store, folder)
        settings = ready.loaded.settings
        played = build_crew(
            dict.fromkeys(ready.crew, listener),
            load_prompts(settings),
            settings.agents.prompt_limit,
        )
        await Engine(
            _cut_workflow(ready.workflow),
            with_(world, crew=played),
            memory,
            Limits(width=1),
            watcher,
        ).drive(run)
    return listener.heard


def _make_folder(root: Path, ready: Prepared, started: Started) -> Path:
    """Make the run's folder, with copies of its findings files."""
    folder = root / "runs" / "dry-run"
    folder.mkdir(parents=True)
    for path, file in zip(ready.documents.values(), started.document_files, strict=True):
        shutil.copyfile(path, folder / file)
    return folder


def _skip_question(step: Do) -> Do:
    """Let a plan step go on without asking the user."""
    return (
        replace(step, options=replace(step.options, ask=False))
        if isinstance(step.options, plan.Options)
        else step
    )


def _cut_workflow(workflow: Workflow) -> Workflow:
    """Return the workflow up to the first fix: later prompts depend on answers."""
    steps: list[Do] = []
    for step in workflow.steps:
        body = step.steps if isinstance(step, Repeat) else (step,)
        for each in body:
            if isinstance(each, Do) and each.verb in _AHEAD:
                steps.append(_skip_question(each))
            if isinstance(each, Do) and each.verb == "fix":
                return replace(workflow, steps=tuple(steps))
    return replace(workflow, steps=tuple(steps))
