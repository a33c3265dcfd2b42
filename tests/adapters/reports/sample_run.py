"""A run as it could have been, folded from events as the engine writes them: two rounds, a culprit, a failed reviewer, leftovers."""

from collections.abc import Iterable

from sample_code import TEXTS, findings

from punchlist.model.checks.check import Check, CheckKind, CheckVerdict
from punchlist.model.finding.finding import Finding, RefusedEntry
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Item, Move
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, LineRange, ScopeKind
from punchlist.model.patch.hunk import OriginalFile, make_hunks
from punchlist.model.patch.patch import Patch

BASE, HEAD = "5d1f0a9c4b7e2d3f8a6b5c4d3e2f1a0b9c8d7e6f", "9a3c5e7b1d2f4a6c8e0b2d4f6a8c0e1b3d5f7a9c"
TIPS = ("c0ffee11d4a5b6c7d8e9f0a1b2c3d4e5f6a7b8c9", "decafbad22e3f4a5b6c7d8e9f0a1b2c3d4e5f6a7")


class Ledger:
    """Counts entries and time."""

    def __init__(self, run: str = "k3v9-2f7c") -> None:
        self.run, self.entries, self._now = run, [], 1_772_355_600.0

    def tell(self, place: str, key: str, event: ev.AnyEvent, took: float = 0.02) -> None:
        self._now += took
        self.entries.append(
            ev.Entry(
                run=self.run,
                seq=len(self.entries) + 1,
                at=self._now,
                place=place,
                key=key,
                event=event,
            )
        )


def _spent(seconds: float, checks: int = 0) -> Usage:
    return Usage(seconds=seconds, checks=checks)


CHECKS = (
    Check(
        name="pytest",
        command=("python", "-m", "pytest", "-q"),
        kind=CheckKind.PYTEST,
        origin="detected by tests/",
    ),
    Check(
        name="types",
        command=("make", "types"),
        kind=CheckKind.PLAIN,
        origin="settings of the repository",
    ),
)


def started(**changes) -> ev.Started:
    change = Change(
        kind=ScopeKind.BRANCH,
        base=BASE,
        head=HEAD,
        base_name="main",
        files={
            "src/shop/cart.py": (LineRange(1, 24),),
            "src/shop/orders.py": (LineRange(1, 22),),
            "src/shop/legacy.py": (LineRange(1, 99),),
        },
        notes=("3 files with uncommitted changes were left out",),
    )
    values = {
        "repository": "/home/ada/shop",
        "change": change,
        "workflow_name": "proven",
        "workflow": "",
        "settings": "{}",
        "reviewers": ("ruff", "bandit", "semgrep", "shellcheck"),
        "documents": ("file:review.md",),
        "checks": CHECKS,
        "checks_allowed": True,
        "version": "0.1.0",
    }
    return ev.Started(**(values | changes))


def batch(number: int, item: Item | int, found: dict[int, tuple[Finding, ...]]) -> Batch:
    lead = next(each for each in found[item] if each.fix)
    return Batch(
        number=number,
        items=(item,),
        fixer="edits",
        title=f"{lead.rule}: {lead.title}",
        paths=(lead.spot.path,),
        safety=lead.fix.safety,
        patch=Patch(splices=lead.fix.splices),
    )


def attempted(batches: Iterable[Batch], refused: dict[int, str] | None = None) -> ev.Attempted:
    refused = refused or {}
    originals = {path: OriginalFile(path, text) for path, text in TEXTS.items()}
    done = {each.number: each.patch for each in batches if each.number not in refused}
    moves = tuple(
        Move(item, Fact.SAID_DEFERRED, by="edits", why=refused[each.number])
        if each.number in refused
        else Move(item, Fact.SAID_FIXED, by="edits", why=each.title)
        for each in batches
        for item in each.items
    )
    return ev.Attempted(
        fixer="edits",
        patches=done,
        refused=refused,
        hunks={n: make_hunks(patch, originals) for n, patch in done.items()},
        moves=moves,
        usage=_spent(0.4),
    )


def landing(batches: Iterable[Batch], round_: int, *, unverified: str = "") -> ev.Committed:
    landed = tuple(
        ev.Landed(each.number, f"{each.number:02x}" + TIPS[round_ - 1][2:]) for each in batches
    )
    commits = {each.batch: each.commit for each in landed}
    checked = (
        ()
        if unverified
        else (
            Proof(ProofClass.CHECKED, "pytest: 148 tests as on the base, where 1 failed already"),
        )
    )
    proofs = (Proof(ProofClass.RECHECKED, "no longer reported by ruff"), *checked)
    moves = tuple(
        Move(
            item,
            Fact.COMMITTED,
            by="punchlist",
            why=each.title,
            proofs=proofs,
            ref=commits[each.number],
        )
        for each in batches
        for item in each.items
    )
    return ev.Committed(
        branch="punchlist/k3v9-2f7c",
        tip=landed[-1].commit,
        landed=landed,
        moves=moves,
        usage=_spent(0.3),
    )


EVIDENCE = """\x1b[31mFAILED\x1b[0m tests/test_orders.py::test_a_big_order_is_big - AssertionError: assert False
    def test_a_big_order_is_big():
>       assert is_big(Order(total=2000))
E       AssertionError: assert False
E        +  where False = is_big(Order(total=2000))"""


def entries(*, unverified: str = "", trouble: bool = True) -> list[ev.Entry]:  # noqa: PLR0915 - a story, told in order
    """The whole story; with `unverified` no check judged, without `trouble` every reviewer came through."""
    log, found = Ledger(), findings()
    red = CheckVerdict(
        check="pytest",
        passed=False,
        why="1 newly failing: tests/test_orders.py::test_a_big_order_is_big",
        failing=("tests/test_orders.py::test_a_big_order_is_big",),
        collected=149,
        seconds=11,
        evidence=EVIDENCE,
    )
    green = CheckVerdict(
        check="pytest", passed=True, why="149 tests, 1 failing as before", collected=149, seconds=11
    )
    log.tell("start", "started", started(checks_allowed=not unverified))
    by_source = {
        name: tuple(each for group in found.values() for each in group if each.source == name)
        for name in ("ruff", "bandit", "file:review.md")
    }
    log.tell(
        "0",
        "ruff",
        ev.Reviewed(
            reviewer="ruff",
            commit=HEAD,
            findings=by_source["ruff"],
            looked_at=46,
            usage=_spent(0.31),
        ),
        0.31,
    )
    log.tell(
        "0",
        "bandit",
        ev.Reviewed(
            reviewer="bandit",
            commit=HEAD,
            findings=by_source["bandit"],
            looked_at=46,
            usage=_spent(1.9),
        ),
        1.6,
    )
    log.tell(
        "0",
        "shellcheck",
        ev.Reviewed(
            reviewer="shellcheck", commit=HEAD, skipped="no shell scripts here", usage=_spent(0.01)
        ),
    )
    if trouble:
        log.tell(
            "0",
            "semgrep",
            ev.Reviewed(
                reviewer="semgrep",
                commit=HEAD,
                failed="timed out after 30 s; nothing it may have found is known",
                usage=_spent(30),
            ),
            28,
        )
    refused = (
        (RefusedEntry("file:review.md", "5. ???", "has no title and no description"),)
        if trouble
        else ()
    )
    log.tell(
        "0",
        "file:review.md",
        ev.Reviewed(
            reviewer="file:review.md",
            commit=HEAD,
            findings=by_source["file:review.md"],
            refused=refused,
            usage=_spent(0.02),
        ),
    )
    items = tuple(
        Item(
            number=n,
            fingerprint=f"{n:016x}",
            findings=group,
            in_scope=group[0].spot.path != "src/shop/billing.py",
        )
        for n, group in found.items()
    )
    log.tell("1", "items", ev.Consolidated(items=items))
    first = [batch(n, item, found) for n, item in enumerate((8, 10, 2, 3, 11), 1)]
    log.tell(
        "2.1.0",
        "batches",
        ev.Planned(
            batches=tuple(first),
            waiting=2,
            moves=(
                Move(
                    7,
                    Fact.SAID_BLOCKED,
                    by="punchlist",
                    why="Referenced file deleted",
                    evidence="src/shop/legacy.py is not in the tree at 9a3c5e7b1d2f",
                ),
            ),
        ),
    )
    log.tell("2.1.1", "edits", attempted(first), 0.4)
    log.tell(
        "2.1.2",
        "recheck",
        ev.Rechecked(passed=(1, 2, 3, 4, 5), silent=(1, 2, 3, 4, 5), usage=_spent(2.2)),
        2.2,
    )
    passed = (1, 2, 3, 4, 5)
    if not unverified:
        log.tell(
            "2.1.2",
            "baseline pytest",
            ev.Baselined(
                check="pytest",
                exit_code=1,
                passed=148,
                failed=1,
                skipped=2,
                sentinel="a planted failure was seen",
                usage=_spent(24, 2),
            ),
            24,
        )
        log.tell(
            "2.1.2",
            "baseline types",
            ev.Baselined(
                check="types",
                exit_code=2,
                unusable="exits 2 on the base and tells nothing per test",
                usage=_spent(6, 1),
            ),
        )
        for n, (tried, verdict, whole) in enumerate(
            [
                ((1, 2, 3, 4, 5), red, True),
                ((1, 2, 3), green, False),
                ((4, 5), red, False),
                ((4,), green, False),
                ((1, 2, 3, 4), green, True),
            ],
            1,
        ):
            seconds = 11.5 if whole else 2.4
            log.tell(
                "2.1.2",
                f"trial {n}",
                ev.Tried(
                    batches=tried, verdicts=(verdict,), complete=whole, usage=_spent(seconds, 1)
                ),
                seconds,
            )
        passed = (1, 2, 3, 4)
    why = (
        "breaks tests/test_orders.py::test_a_big_order_is_big"
        if not unverified
        else "unsafe fix, not applied: no check judged it"
    )
    rejected = {n: why for n in (1, 2, 3, 4, 5) if n not in passed}
    if unverified:
        passed, rejected = (1, 2), dict.fromkeys((3, 4, 5), why)
    moves = tuple(
        Move(
            first[n - 1].items[0],
            Fact.REJECTED,
            by="verify",
            why=said,
            evidence="" if unverified else EVIDENCE,
            ref="f1",
        )
        for n, said in rejected.items()
    )
    log.tell(
        "2.1.2",
        "verdict",
        ev.Verified(passed=passed, failed=rejected, unverified=unverified, moves=moves),
    )
    log.tell(
        "2.1.3", "land", landing([first[n - 1] for n in passed], 1, unverified=unverified), 0.3
    )
    log.tell(
        "2.1.4",
        "ruff",
        ev.Reviewed(
            reviewer="ruff",
            commit=TIPS[0],
            findings=tuple(
                each
                for each in by_source["ruff"]
                if each.rule
                in {"S602", "E722", "SIM115", "S311", "A001", "SIM103", "E712", "D103", "F841"}
            ),
            looked_at=46,
            usage=_spent(0.3),
        ),
        0.3,
    )
    again = tuple(
        ev.Sighting(n, group[0])
        for n, group in found.items()
        if n in {1, 4, 5, 6, 9, 11, 12, 14, 15}
    )
    gone = "no longer reported by ruff, after other fixes of this run"
    log.tell(
        "2.1.5",
        "items",
        ev.Consolidated(
            sightings=again,
            moves=(
                Move(13, Fact.SAID_FIXED, by="review", why=gone),
                Move(
                    13,
                    Fact.COMMITTED,
                    by="review",
                    why=gone,
                    proofs=(Proof(ProofClass.RECHECKED, gone),),
                    ref=TIPS[0],
                ),
            ),
        ),
    )
    log.tell("2.1.6", "decision", ev.RoundEnded(round=1))
    second = [batch(6, 12, found)]
    log.tell("2.2.0", "batches", ev.Planned(batches=tuple(second)))
    log.tell("2.2.1", "edits", attempted(second), 0.2)
    log.tell("2.2.2", "recheck", ev.Rechecked(passed=(6,), silent=(6,), usage=_spent(1.1)), 1.1)
    if unverified:
        moves = (Move(12, Fact.REJECTED, by="verify", why=why, ref="f2"),)
        log.tell(
            "2.2.2", "verdict", ev.Verified(failed={6: why}, unverified=unverified, moves=moves)
        )
    else:
        log.tell(
            "2.2.2",
            "trial 1",
            ev.Tried(batches=(6,), verdicts=(green,), complete=True, usage=_spent(11.4, 1)),
            11.4,
        )
        log.tell("2.2.2", "verdict", ev.Verified(passed=(6,)))
        log.tell("2.2.3", "land", landing(second, 2), 0.3)
    log.tell("2.2.6", "decision", ev.RoundEnded(round=2, stop="settled"))
    log.tell(
        "x",
        "dismissed",
        ev.Dismissed(
            by="ada",
            why="the name is part of our API",
            moves=(Move(9, Fact.DISMISSED, by="ada", why="the name is part of our API"),),
        ),
    )
    filed = tuple(
        Move(n, Fact.FILED, by="files", why="left over", ref=f".punchlist/issues/{n:04d}.md")
        for n in (1, 4, 7)
    )
    log.tell(
        "3",
        "file 1",
        ev.Filed(tracker="files", moves=filed, failed={6: "the disk is full"} if trouble else {}),
    )
    return log.entries


def sample(**how) -> Run:
    log = entries(**how)
    return fold_entries(log[0].run, log)
