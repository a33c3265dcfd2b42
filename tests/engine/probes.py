"""Verbs whose steps and performers a test writes, a ledger in memory, and a world that has only what they need."""

import asyncio
from contextlib import asynccontextmanager
from functools import cached_property

from msgspec import Struct

from made import made_run
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.adapters.trackers.files import FilesTracker
from punchlist.engine import Engine, Limits
from punchlist.model.checks.protected import Protected
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.integrity.suppressions import Suppressions
from punchlist.model.item.item import Fact, Item, Move, Status
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold, fold_entries
from punchlist.model.ledger.hash_chain import link_entry
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.ports.notices import Notices
from punchlist.ports.world import World
from punchlist.steps import VERBS, Action, Verb
from punchlist.steps.verb import NoOptions
from punchlist.workflow.language import Do, Workflow

CHANGE = Change(kind=ScopeKind.ALL, base="base", head="base")


class Job(Struct, frozen=True):
    name: str


def done(name: str, **spent) -> ev.AnyEvent:
    """Something happened, and no item moved."""
    return ev.Dismissed(by="probe", why=name, usage=Usage(**spent))


def action(name: str) -> Action:
    return Action(name, Job(name), f"{name} is done")


def item(number: int, severity: Severity = Severity.MAJOR) -> Item:
    found = Finding(
        id=f"f{number}",
        source="probe",
        title=f"defect {number}",
        severity=severity,
        spot=Spot("a.py", number),
    )
    return Item(number=number, fingerprint=f"print {number}", findings=(found,))


def all_of(*names: str):
    """A step that names everything at once, whether it is done or not."""
    return lambda run, options, place: tuple(action(name) for name in names)


async def at_once(job, run, world):
    return done(job.name)


class Lines:
    """A ledger in memory: the Store port without a disk."""

    def __init__(self, entries=()) -> None:
        self.entries = list(entries)

    def append(self, run, place, key, event, at):
        mine = [entry for entry in self.entries if entry.run == run]
        known = next((entry for entry in mine if (entry.place, entry.key) == (place, key)), None)
        if known is not None:
            return known
        prev = mine[-1].hash if mine else ""
        self.entries.append(
            link_entry(
                ev.Entry(run=run, seq=len(mine) + 1, at=at, place=place, key=key, event=event), prev
            )
        )
        return self.entries[-1]

    def read(self, run, after=0):
        return (entry for entry in list(self.entries) if entry.run == run and entry.seq > after)

    def runs(self, repository=""):
        return []


class Watch:
    """Keeps what went by, and may do something when it does."""

    def __init__(self, on_told=None) -> None:
        self.began_keys: list[str] = []
        self.entries: list[ev.Entry] = []
        self._on_told = on_told

    def handle_start(self, place, action):
        self.began_keys.append(action.key)

    def handle_output(self, label, piece):
        pass

    def handle_event(self, entry, run):
        self.entries.append(entry)
        if self._on_told:
            self._on_told(entry, run)

    @property
    def told_keys(self) -> list[str]:
        return [entry.key for entry in self.entries]


class NoFiles:
    @asynccontextmanager
    async def open_tree(self, commit, patches=(), **_):
        yield self

    def files(self):
        return []

    def text(self, path):
        return ""


class Stage:
    """One run, driven as often as a test likes; each time only the ledger is left of the time before."""

    def __init__(self, folder, monkeypatch, store) -> None:
        self.folder = folder
        self.store = store
        self.limits = Limits()
        self.helpers = None
        self.clock = lambda: 0.0
        self.analyzers = {}
        self.has_room = lambda: True
        self._tables = monkeypatch
        self._steps: list = []

    def verb(self, step, perform=at_once, **how) -> None:
        """Appends a step to the workflow, with a verb of its own."""
        name = f"probe {len(self._steps)}"
        self.knows(name, step, perform, **how)
        self.then(Do(name, NoOptions()))

    def knows(self, name, step, perform=at_once, **how) -> None:
        self._tables.setitem(VERBS, name, Verb("a probe", NoOptions, step, {Job: perform}, **how))

    def then(self, *steps) -> None:
        self._steps += steps

    @cached_property
    def notices(self) -> Notices:
        return Notices()

    @property
    def workflow(self) -> Workflow:
        return Workflow("mine", "a test", tuple(self._steps), "")

    @property
    def run(self) -> Run:
        """What the ledger says, and nothing else; a run that nothing happened to where it is empty."""
        return fold_entries("r", self.entries) if self.entries else made_run()

    @property
    def entries(self) -> list[ev.Entry]:
        return list(self.store.read("r"))

    @property
    def keys(self) -> list[str]:
        return [entry.key for entry in self.entries]

    @property
    def world(self) -> World:
        return World(
            change=CHANGE, has_room=self.has_room, trees=NoFiles(), repository=None, analyzers=self.analyzers, documents={}, fixers={}, checks=None,
            tracker=FilesTracker(self.folder / "issues"), artifacts=FolderArtifacts(self.folder / "artifacts"), cache=None,
            reports={"report.txt": lambda run: run.id.encode()}, protected=Protected(), suppressions=Suppressions(()), clock=self.clock,
            subscribe=self.notices.subscribe,
        )  # fmt: skip

    def begun(self) -> None:
        started = ev.Started(
            repository="r.git", change=CHANGE, workflow_name="mine", workflow="", settings="{}",
            reviewers=tuple(self.analyzers), checks=(), checks_allowed=False, version="0",
        )  # fmt: skip
        self.store.append("r", "start", "started", started, self.clock())

    async def driving(self, watch=None) -> Run:
        """Begins, or goes on with what the ledger has."""
        if not self.keys:
            self.begun()
        else:
            self.store.append(
                "r", "signal", f"resumed {len(self.keys)}", ev.Resumed(version="0"), self.clock()
            )
        engine = Engine(self.workflow, self.world, self.store, self.limits, watch or Watch())
        engine.helpers = self.helpers
        return await engine.drive(self.run)

    def drive(self, watch=None) -> Run:
        return asyncio.run(self.driving(watch))

    def answer(self, choice: str) -> Run:
        answered = ev.Answered(choice=choice, by="Ada")
        entry = self.store.append("r", self.run.waiting_for.place, "answer", answered, self.clock())
        return fold(self.run, entry)

    def add_items(self, *numbers: int, severity: Severity = Severity.MAJOR) -> None:
        """A step that puts items on the list."""

        async def bring(job, run, world):
            return ev.Consolidated(items=tuple(item(number, severity) for number in numbers))

        self.verb(all_of("items"), bring)


async def dismiss_one(job, run, world) -> ev.AnyEvent:
    """The work of a round that gets somewhere."""
    first = run.find_items(Status.OPEN)[0]
    return ev.Dismissed(by="probe", why="not needed", moves=(Move(first.number, Fact.DISMISSED),))
