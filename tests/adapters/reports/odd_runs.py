"""Runs that are hard to show: one full of hostile text, and one of very many items."""

from sample_code import CART, finding
from sample_run import HEAD, Ledger, attempted, landing, started

from punchlist.model.finding.finding import Finding, RefusedEntry, Splice, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Item, Move
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run import Run
from punchlist.model.patch.hunk import OriginalFile, make_hunks
from punchlist.model.patch.patch import Patch

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> \x1b[2J\x1b]0;x\x07 \u202egnp.exe ]]> {{ 7*7 }} & \x00 \udc80"


def hostile() -> Run:
    """Everything a stranger may write says something nasty."""
    nasty = Finding(
        id="x:1",
        source=f"tool{HOSTILE}",
        title=f"title{HOSTILE}",
        spot=Spot(f"src/{HOSTILE}.py", 3),
        severity=Severity.CRITICAL,
        rule=f"R]{HOSTILE}",
        label=HOSTILE,
        detail=f"first\n```\n# Heading\n- **File:** other.py\n1. **[X]:** not an item {HOSTILE}",
        category=HOSTILE,
        suggestion=HOSTILE,
        url="javascript:alert(3)",
        code=f"code {HOSTILE}\n</code></pre>",
        marks=(HOSTILE,),
    )
    other = Finding(
        id="y:1",
        source="other",
        title="Merged",
        spot=Spot("src/a.py"),
        severity=Severity.MINOR,
        detail=HOSTILE,
        url='https://x.example/"><script>',
    )
    log = Ledger("r-hostile")
    log.tell(
        "start",
        "started",
        started(repository=HOSTILE, reviewers=(nasty.source,), documents=(), checks=()),
    )
    log.tell(
        "0",
        "r",
        ev.Reviewed(
            reviewer=nasty.source,
            commit=HEAD,
            findings=(nasty, other),
            refused=(RefusedEntry(HOSTILE, HOSTILE, HOSTILE),),
        ),
    )
    log.tell("0", "s", ev.Reviewed(reviewer="s", commit=HEAD, failed=HOSTILE))
    log.tell(
        "1",
        "items",
        ev.Consolidated(items=(Item(number=1, fingerprint="f" * 16, findings=(nasty, other)),)),
    )
    work = Batch(
        number=1,
        items=(1,),
        fixer="edits",
        title=HOSTILE,
        paths=(nasty.spot.path,),
        patch=Patch(splices=(Splice("src/a.py", 0, 1, HOSTILE),)),
    )
    log.tell("2", "batches", ev.Planned(batches=(work,)))
    shown = make_hunks(work.patch, {"src/a.py": OriginalFile("src/a.py", f"x{HOSTILE}\n")})
    log.tell(
        "2",
        "edits",
        ev.Attempted(
            fixer="edits",
            patches={1: work.patch},
            hunks={1: shown},
            moves=(Move(1, Fact.SAID_FIXED, by=HOSTILE, why=HOSTILE),),
        ),
    )
    log.tell(
        "2",
        "v",
        ev.Verified(
            failed={1: HOSTILE},
            moves=(Move(1, Fact.REJECTED, by=HOSTILE, why=HOSTILE, evidence=HOSTILE),),
        ),
    )
    log.tell("3", "f", ev.Failed(reason=HOSTILE))
    return fold_entries(log.run, log.entries)


def crowd(count: int) -> Run:
    """Many items, one batch each, all landed but every third."""
    log = Ledger("crowd")
    log.tell("start", "started", started(documents=()))
    found = [
        finding(
            "ruff",
            "F401",
            f"src/pkg{n % 40}/module{n % 400}.py",
            n % 900 + 1,
            f"`name{n}` imported but unused",
            detail="Remove it.\n" * 3,
        )
        for n in range(count)
    ]
    log.tell(
        "0",
        "ruff",
        ev.Reviewed(
            reviewer="ruff",
            commit=HEAD,
            findings=tuple(found),
            looked_at=400,
            usage=Usage(seconds=2),
        ),
        2,
    )
    log.tell(
        "1",
        "items",
        ev.Consolidated(
            items=tuple(
                Item(number=n, fingerprint=f"{n:016x}", findings=(each,))
                for n, each in enumerate(found, 1)
            )
        ),
    )
    splice = Splice("src/shop/cart.py", CART.index("import os"), CART.index("import json"), "")
    work = [
        Batch(
            number=n,
            items=(n,),
            fixer="edits",
            title="F401: unused",
            paths=("src/shop/cart.py",),
            patch=Patch(splices=(splice,)),
        )
        for n in range(1, count + 1)
        if n % 3
    ]
    log.tell("2.1.0", "batches", ev.Planned(batches=tuple(work)))
    log.tell("2.1.1", "edits", attempted(work), 3)
    log.tell("2.1.2", "verdict", ev.Verified(passed=tuple(each.number for each in work)))
    log.tell("2.1.3", "land", landing(work, 1), 5)
    log.tell("2.1.6", "decision", ev.RoundEnded(round=1, stop="settled"))
    return fold_entries(log.run, log.entries)
