"""What was not checked stands apart from what a person should merely know."""

from made import made_run
from punchlist.app.after.audit import Audit
from punchlist.cli.drawing import draw_lines
from punchlist.cli.show.caveats import render_caveats
from punchlist.cli.show.tables import audit_text
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item
from punchlist.model.ledger.run import LatestReview, Reviewing, Run


def item(number: int) -> Item:
    finding = Finding(
        id=f"f{number}",
        source="ruff",
        title="x",
        spot=Spot("a.py", number),
        severity=Severity.MINOR,
    )
    return Item(
        number=number,
        fingerprint=str(number),
        findings=(finding,),
        flags=("touches the judge: look at it",),
    )


def told(run: Run) -> str:
    return "\n".join(line.rstrip() for line in draw_lines(render_caveats(run), 200))


def test_flagged_fixes_are_one_line_for_each_reason():
    said = told(made_run(id="r", items={number: item(number) for number in range(1, 14)}))
    assert (
        "Look at 13 flagged fixes (1, 2, 3, 4, 5, 6, 7, 8, ...): touches the judge\n" in said + "\n"
    )
    assert "Not checked" not in said


def test_an_interruption_is_a_note_and_a_reviewer_that_failed_is_not():
    said = told(
        made_run(
            id="r",
            interrupted=True,
            reviewing=Reviewing(reviews={"ruff": LatestReview("ruff", "c", failed="it fell over")}),
        )
    )
    unchecked, _, notes = said.partition("Note")
    assert "ruff failed: it fell over" in unchecked
    assert "The run was interrupted" in notes


def test_where_everybody_had_nothing_to_look_at_those_who_would_are_named():
    said = told(
        made_run(
            id="r",
            reviewing=Reviewing(
                reviews={"ruff": LatestReview("ruff", "c", skipped="no files it looks at")}
            ),
        )
    )
    assert "eslint or biome looks at JavaScript and TypeScript" in said
    assert "looks at Python" not in said


def test_the_audit_of_a_run_that_has_not_ended_shows_its_sum():
    audit = Audit(
        run="r", entries=9, ok=True, problems=(), reported=12, items=8, merged=1, seen_again=1, refused=0,
        fixed=2, filed=1, dismissed=0, listed=0,
    )  # fmt: skip
    said = "\n".join(audit_text(audit))
    assert "12  = 8 items + 1 merged + 1 again + 2 not sorted yet" in said
    assert "open              5" in said
