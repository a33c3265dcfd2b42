"""What was seen of a fix and is no proof: the log says how many notes there are, `show` shows them all."""

from made import made_run
from punchlist.cli.drawing import draw_lines
from punchlist.cli.show.item import render_item
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.round_history import PastEvent
from punchlist.model.ledger.run import ByItem
from punchlist.model.ledger.timeline import make_moment
from punchlist.model.patch.hunk import Diff
from punchlist.views.item_words import find_notes

NOTES = tuple(f"note {number} of the examination" for number in range(1, 6))


def test_a_fix_that_did_not_land_shows_every_note_and_the_log_counts_the_rest():
    found = Finding(
        id="f1", source="claude", title="wrong", severity=Severity.MAJOR, spot=Spot("a.py", 1)
    )
    item = Item(number=1, fingerprint="x", findings=(found,))
    examined = ev.Examined(batch=3, noted=NOTES)
    other = ev.Examined(batch=4, noted=("of another fix",))
    history = tuple(PastEvent(1, 0, event) for event in (examined, other))
    run = made_run(items={1: item}, by_item=ByItem(diffs={1: Diff(3, ())}), history=history)
    shown = "\n".join(draw_lines(render_item(item, None, notes=find_notes(run, item)), 200))
    assert all(note in shown for note in NOTES)
    assert "of another fix" not in shown
    entry = ev.Entry(run="r", seq=1, at=0, place="verify", key="examine 3", event=examined)
    moment = make_moment(entry, 0, 1)
    assert moment.why == f"{NOTES[0]}; {NOTES[1]}; and 3 more"
