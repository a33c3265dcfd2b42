"""A run is neither clean nor fixed while a critical or major item is open outside the change."""

import pytest

from made import made_run
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger.outcome import run_outcome
from punchlist.model.ledger.run import LatestReview, Reviewing
from punchlist.views.summary import summarize_run


def item(number, severity, status, *, in_scope):
    found = Finding(
        id=f"f{number}", source="ruff", title="x", severity=severity, spot=Spot("a.py", number)
    )
    return Item(
        number=number, fingerprint=str(number), findings=(found,), status=status, in_scope=in_scope
    )


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize(
    ("severity", "status", "held"),
    [
        (Severity.CRITICAL, Status.OPEN, True),
        (Severity.MAJOR, Status.BLOCKED, True),
        (Severity.MINOR, Status.OPEN, False),
        (Severity.CRITICAL, Status.DISMISSED, False),
    ],
)
def test_what_is_open_outside_the_change_decides_with(inside, severity, status, held):
    items = {7: item(7, severity, status, in_scope=False)}
    if inside:
        items[1] = item(1, Severity.MINOR, Status.FIXED, in_scope=True)
    reviewing = Reviewing(reviews={"ruff": LatestReview("ruff", "base")})
    run = made_run(items=items, reviewing=reviewing)
    fine = "fixed" if inside else "clean"
    assert run_outcome(run) == ("leftovers" if held else fine)
    assert ("1 must-fix item is open: item 7." in summarize_run(run).headline) is held
