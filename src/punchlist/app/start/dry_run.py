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
from punchlist.app.start.role_assignment import list_steps
from punchlist.engine import Engine, Limits, Watcher
from punchlist.model.ledger.events import AnyEvent, Entry, Started
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run_row import RunRow
from punchlist.ports.agent import Ask, Hear, Reply
from punchlist.roles.crew import build_crew
from punchlist.steps import consolidate, plan
from punchlist.workflow.language import Do, Workflow

_AHEAD = frozenset({"review", "consolidate", "clarify", "fix"})


class Prompt(Struct, frozen=True):
    role: str
    text: str


class _PromptRecorder:
    """Agent that records prompts and fails."""

    name = "dry-run"

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        self.prompts.append(Prompt(ask.role, ask.prompt))
        return Reply(agent=self.name, failed="dry run: no agent was asked")


class _MemoryStore:
    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def append(self, run: str, place: str, key: str, event: AnyEvent, at: float) -> Entry:
        seq = len(self._entries) + 1
        entry = Entry(run=run, seq=seq, at=at, place=place, key=key, event=event)
        self._entries.append(entry)
        return entry

    def read(self, run: str, after: int = 0) -> Iterator[Entry]:
        return iter(self._entries[after:])

    def runs(self, repository: str = "") -> Sequence[RunRow]:
        return ()


async def rehearse_run(session: Session, ready: Prepared, watcher: Watcher) -> list[Prompt]:
    """Return the prompts in their order. No agent, analyzer or check runs; nothing is recorded."""
    if not ready.crew:
        return []
    workshop = await session.workshop()
    recorder, memory = _PromptRecorder(), _MemoryStore()
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
        players = dict.fromkeys(ready.crew, recorder)
        crew = build_crew(players, load_prompts(settings), settings.agents.prompt_limit)
        workflow = _cut_workflow(ready.workflow)
        engine = Engine(workflow, with_(world, crew=crew), memory, Limits(width=1), watcher)
        await engine.drive(run)
    return recorder.prompts


def _make_folder(root: Path, ready: Prepared, started: Started) -> Path:
    """Make the run's folder, with copies of its findings files."""
    folder = root / "runs" / "dry-run"
    folder.mkdir(parents=True)
    for path, file in zip(ready.documents.values(), started.document_files, strict=True):
        shutil.copyfile(path, folder / file)
    return folder


def _cut_workflow(workflow: Workflow) -> Workflow:
    """Return the workflow up to the first fix, without questions: later prompts need answers."""
    steps: list[Do] = []
    for step in list_steps(workflow):
        if isinstance(step.options, plan.Options):
            steps.append(replace(step, options=replace(step.options, ask=False)))
        elif isinstance(step.options, consolidate.Options):
            steps.append(replace(step, options=replace(step.options, document=False)))
        elif step.verb in _AHEAD:
            steps.append(step)
        if step.verb == "fix":
            break
    return replace(workflow, steps=tuple(steps))
