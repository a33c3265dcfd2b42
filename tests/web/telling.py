"""Runs told event by event, for pages to show."""

import time

from reading import started

from made import made_run
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Fact, Item, Move
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold

HOSTILE = (
    "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> {{ 7*7 }} \u202egnp.exe\x1b[31m"
)


def item(
    number: int,
    title: str = "",
    *,
    path: str = "shop/prices.py",
    severity=Severity.MAJOR,
    in_scope=True,
    rule: str = "",
) -> Item:
    found = Finding(
        id=f"f{number}",
        source="ruff",
        rule=rule,
        title=title or f"fault {number}",
        spot=Spot(path, number),
        severity=severity,
    )
    return Item(number=number, fingerprint=f"p{number}", findings=(found,), in_scope=in_scope)


def fixed(number: int, kind: ProofClass = ProofClass.CHECKED) -> tuple[Move, Move]:
    proof = Proof(kind, "seen")
    return Move(number, Fact.SAID_FIXED, "robot"), Move(
        number, Fact.COMMITTED, "punchlist", proofs=(proof,), ref="c" * 40
    )


class Told:
    """A run that grows by one event at a time; with a store it is in the ledger, too."""

    def __init__(
        self,
        git_dir: str = "/srv/shop/.git",
        store: SqliteStore | None = None,
        run: str = "261115-aaaaaa",
    ) -> None:
        self._store = store
        self.run = made_run(id=run)
        self.tell(started(git_dir))

    def tell(self, event: ev.AnyEvent, place: str = "1") -> "Told":
        key, at = f"event {self.run.seq}", time.time()
        if self._store is not None:
            entry = self._store.append(self.run.id, place, key, event, at)
        else:
            entry = ev.Entry(
                run=self.run.id, seq=self.run.seq + 1, at=at, place=place, key=key, event=event
            )
        self.run = fold(self.run, entry)
        return self

    def items(self, *items: Item, moves: tuple[Move, ...] = ()) -> "Told":
        self.tell(ev.Consolidated(items=items))
        return self.tell(ev.StepDone(verb="fix", moves=moves)) if moves else self
