"""A run with thousands of items of every status, told to the real store event by event."""

import subprocess
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from made import made_run
from punchlist._version import __version__
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.checks.check import Check, CheckKind, CheckVerdict
from punchlist.model.dedup.merge import MergeRule
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.batch import AGENT, Batch
from punchlist.model.item.item import Fact, Move
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.item.score import Score
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.model.patch.hunk import Hunk
from punchlist.model.patch.patch import FileChange, Patch
from punchlist.settings import encode_settings, load_settings
from punchlist.steps.support.item_matching import consolidate_findings
from punchlist.workflow.loader import load_builtin

RUN = "crowd"
_CLAIMS = (
    "SQL is built from {} by string formatting",
    "{} is used before it is assigned",
    "{} swallows every exception",
    "Off by one in the loop over {}",
    "The token in {} is compared without constant time",
)
_BODY = "def {name}(rows):\n    total = 0\n    for row in rows:\n        total += row.price\n    return total"
_FATES = "fixed fixed fixed filed filed open open open claimed blocked deferred dismissed".split()
_COMMIT = "{:040x}"
_RULES = {0: f"<b>S600\u202e{'x' * 300}"}
_TITLES = {1: f" {'y' * 400}", 2: " \x1b[31m</td></table>\u202egnp"}
"""Texts of strangers that a layout has to bear."""


class Ledger:
    """A run that grows by one event at a time."""

    def __init__(self, store: SqliteStore, run: str) -> None:
        self._store = store
        self.run = made_run(id=run)

    def tell(self, event: ev.AnyEvent, place: str = "1", key: str = "") -> None:
        entry = self._store.append(
            self.run.id, place, key or f"event {self.run.seq}", event, time.time()
        )
        self.run = fold(self.run, entry)


def crowd(home: Path, repository: Path, count: int, run: str = RUN) -> Ledger:
    """The run is in the ledger, has not ended, and nobody drives it. `repository` is a git repository with a commit."""
    ledger = Ledger(SqliteStore.open(home), run)
    head = _git(repository, "rev-parse", "HEAD")
    change = Change(kind=ScopeKind.ALL, base=head, head=head)
    ledger.tell(
        _started(str(Path(_git(repository, "rev-parse", "--absolute-git-dir"))), change),
        "start",
        "started",
    )
    found = list(_findings(count))
    ledger.tell(
        ev.Reviewed(reviewer="ruff", commit=head, findings=tuple(found[::2]), looked_at=200),
        "1.1.0",
    )
    ledger.tell(
        ev.Reviewed(reviewer="technical", agent="robot", commit=head, findings=tuple(found[1::2])),
        "1.1.0",
    )
    ledger.tell(consolidate_findings(ledger.run, change, MergeRule.EXACT), "1.1.1")
    fates = dict(zip(ledger.run.items, cycle(_FATES), strict=False))
    for event in _work(ledger.run, fates):
        ledger.tell(event, "1.1.2")
    ledger.tell(ev.RoundEnded(round=1), "1.1.5")
    return ledger


def _started(git_dir: str, change: Change) -> ev.Started:
    return ev.Started(
        repository=git_dir,
        change=change,
        workflow_name="proven",
        workflow=load_builtin("proven").text,
        settings=encode_settings(load_settings(None, {})),
        reviewers=("ruff", "technical"),
        checks=(
            Check(name="tests", command=("python", "-m", "unittest"), kind=CheckKind.UNITTEST),
        ),
        checks_allowed=True,
        version=__version__,
        crew=dict.fromkeys(("technical", "fixer", "challenger"), ("robot",)),
    )


def _findings(count: int) -> Iterator[Finding]:
    severities = cycle(Severity)
    for number in range(count):
        name = f"rows_of_{number}"
        yield Finding(
            id=f"f{number}",
            source=("ruff", "technical")[number % 2],
            rule=_RULES.get(number, "" if number % 2 else f"S{600 + number % 40}"),
            title=_CLAIMS[number % len(_CLAIMS)].format(name) + _TITLES.get(number, ""),
            detail=f"Whatever is in {name} goes on as it is. Callers rely on it being checked here, and nobody does.",
            category="correctness",
            severity=next(severities),
            spot=Spot(
                f"shop/part_{number % 200}/orders.py",
                10 * (number // 200) + 3,
                10 * (number // 200) + 4,
            ),
            code=_BODY.format(name=name),
            suggestion=f"Check {name} before it is used.",
        )


def _work(run: Run, fates: dict[int, str]) -> Iterator[ev.AnyEvent]:
    tried = [number for number, fate in fates.items() if fate in ("fixed", "claimed")]
    batches = tuple(_batch(run, number) for number in tried)
    yield ev.Planned(batches=batches)
    yield ev.Attempted(
        fixer=AGENT,
        agent="robot",
        patches={
            each.number: Patch(files=(FileChange(each.paths[0], "x = 1\n"),)) for each in batches
        },
        hunks={each.number: (_hunk(each),) for each in batches},
        moves=tuple(_said(fates)),
        usage=Usage(seconds=30, input_tokens=120_000, output_tokens=9_000, dollars=1.25),
    )
    yield ev.Baselined(check="tests", exit_code=0, passed=1200)
    landed = tuple(number for number, fate in fates.items() if fate == "fixed")
    yield ev.Tried(
        batches=landed,
        verdicts=(CheckVerdict(check="tests", passed=True, why="1200 tests"),),
        complete=True,
    )
    yield ev.Verified(passed=landed)
    yield ev.Challenged(
        agent="robot",
        scores=tuple(Score(n, 91 + n % 9, "SOLVED", "good") for n in landed),
        approved=landed,
    )
    tip = _COMMIT.format(landed[-1])
    proofs = (
        Proof(ProofClass.CHECKED, "tests: 1200 tests"),
        Proof(ProofClass.REVIEWED, "scored 95 by robot"),
    )
    yield ev.Committed(
        branch=run.landing.branch,
        tip=tip,
        landed=tuple(ev.Landed(n, _COMMIT.format(n)) for n in landed),
        moves=tuple(
            Move(n, Fact.COMMITTED, by="punchlist", proofs=proofs, ref=_COMMIT.format(n))
            for n in landed
        ),
    )
    filed = (number for number, fate in fates.items() if fate == "filed")
    yield ev.Filed(
        tracker="files",
        moves=tuple(Move(n, Fact.FILED, by="files", ref=f"issues/{n:05}.md") for n in filed),
    )
    gone = tuple(number for number, fate in fates.items() if fate == "dismissed")
    moves = tuple(Move(n, Fact.DISMISSED, by="ada", why="generated code") for n in gone)
    yield ev.Dismissed(by="ada", why="generated code", moves=moves)


def _batch(run: Run, number: int) -> Batch:
    lead = run.items[number].lead
    return Batch(
        number=number, items=(number,), fixer=AGENT, title=lead.title, paths=(lead.spot.path,)
    )


def _hunk(batch: Batch) -> Hunk:
    return Hunk(
        batch.paths[0],
        3,
        (" def rows(rows):", "-    total = 0", "+    total = Decimal(0)", "     for row in rows:"),
    )


def _said(fates: dict[int, str]) -> Iterator[Move]:
    facts = {
        "fixed": (Fact.SAID_FIXED, "checks the rows now"),
        "claimed": (Fact.SAID_FIXED, "checks the rows now"),
        "deferred": (Fact.SAID_DEFERRED, "tried, and did not find the cause"),
        "blocked": (Fact.SAID_BLOCKED, "the file is generated"),
    }
    for number, fate in fates.items():
        if fate in facts:
            fact, why = facts[fate]
            yield Move(number, fact, by="robot", why=why)


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()
