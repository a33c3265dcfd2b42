"""Dry run: play a run in memory up to the first fix, and return the prompts."""

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.checks.runner import LocalCheckRunner
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.store.memory import MemoryStore
from punchlist.app.session import Session
from punchlist.app.start import wiring
from punchlist.app.start.agents import RunFiles, load_prompts
from punchlist.app.start.request import Prepared
from punchlist.engine import Engine, Limits, Watcher
from punchlist.model.checks.changed_lines import ExecutedLines
from punchlist.model.checks.check import Check, CoveredRun
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.fold import fold_entries
from punchlist.ports.agent import Ask, Hear, Reply
from punchlist.ports.tree import Tree
from punchlist.roles.crew import build_crew
from punchlist.steps import consolidate, plan, review
from punchlist.workflow.language import Do, Repeat, StopWhen, Workflow, list_steps

_ROLES = {
    "clarify": "clarifier",
    "plan": "planner",
    "fix": "fixer",
    "challenge": "challenger",
    "reproduce": "reproducer",
}
"""By verb: the role that it asks; reviews name theirs."""
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


class _NoChecks(LocalCheckRunner):
    """Check runner that runs nothing."""

    async def run_covered(
        self, check: Check, tree: Tree, *, sources: Sequence[str] = ()
    ) -> CoveredRun:
        return CoveredRun(ExecutedLines(unknown="dry run: no check was run"))


async def rehearse_run(session: Session, ready: Prepared, watcher: Watcher) -> list[Prompt]:
    """Return the prompts in their order. No agent, analyzer or check runs; nothing is recorded."""
    if not ready.crew:
        return []
    workshop = await session.workshop()
    recorder, memory = _PromptRecorder(), MemoryStore()
    started = replace(
        ready.started(session.repository),
        reviewers=(),
        document_files=tuple(f"findings-{index}" for index in range(len(ready.documents))),
    )
    with temporary_folder("punchlist-rehearsal-") as name:
        folder = _make_folder(name, ready, started)
        begun = memory.append("dry-run", "start", "started", started, time.time())
        run = fold_entries("dry-run", (begun,))
        files = RunFiles.below(folder)
        world = wiring.build_world(workshop, run, replace(started, crew={}), session.store, files)
        settings = ready.loaded.settings
        players = dict.fromkeys(ready.crew, recorder)
        crew = build_crew(players, load_prompts(settings), settings.agents.prompt_limit)
        workflow = _cut_workflow(ready.workflow)
        world = replace(world, crew=crew, checks=_NoChecks(name))
        engine = Engine(workflow, world, memory, Limits(width=1), watcher)
        await engine.drive(run)
    return recorder.prompts


def list_agent_calls(ready: Prepared) -> list[str]:
    """Return which agents the workflow would start, in order, if every round finds something."""
    about = f" for Story {ready.story.id}" if ready.story.id else ""
    calls: list[str] = []
    for step in ready.workflow.steps:
        rounds = range(1, step.rounds + 1) if isinstance(step, Repeat) else [0]
        for number in rounds:
            for do in _list_round(step, last=number == len(rounds)):
                when = f" round {number}" if number else ""
                calls += (f"{who}{about}{when}" for who in _list_players(do, ready.crew))
    return calls


def _list_round(step: Do | Repeat, *, last: bool) -> Iterator[Do]:
    """Yield the steps of a round; those of the last one end where the loop stops."""
    if isinstance(step, Do):
        yield step
        return
    for each in step.steps:
        if isinstance(each, StopWhen) and last:
            return
        if isinstance(each, Do):
            yield each


def _list_players(do: Do, crew: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the agents that a step starts, with their roles."""
    roles = [_ROLES.get(do.verb, "")]
    if isinstance(do.options, review.Options):
        roles = list(do.options.by)
    elif isinstance(do.options, plan.Options) and not do.options.planner:
        roles = []
    return [f"{crew[role][0]} as {role}" for role in roles if crew.get(role)]


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
