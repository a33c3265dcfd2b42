"""Trailers say of which run and items a commit is, what was proven, and which entry of the ledger was the last."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.commit_trailers import (
    find_comments,
    read_trailers,
    render_anchor,
    render_comment,
    render_proofs,
)
from punchlist.views.safe_text import safe_text

HASH = "0123456789abcdef" * 4
OWN = f"Punchlist-Run: r1\nPunchlist-Items: 3, 4\nPunchlist-Proofs: 3 rechecked checked, 4 claim\nPunchlist-Ledger: {HASH}"


@pytest.mark.parametrize("end", ["", "\n", "\nSigned-off-by: Ada\n", "\n\nReviewed-by: Bob\n"])
def test_they_are_read_with_other_trailers_beside_and_below_them(end):
    found = read_trailers(f"Fix it\n\nwhy\n\nStory: 1 x\n{OWN}{end}")
    assert (found.run, found.items, found.ledger, found.faults) == ("r1", (3, 4), HASH, ())
    assert found.proofs == {3: (ProofClass.RECHECKED, ProofClass.CHECKED), 4: (ProofClass.CLAIM,)}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("Punchlist-Ledger: " + "0" * 64, "2 times"),
        ("Punchlist-Run: r2", "2 times"),
        ("Punchlist-Items: 1", "2 times"),
        ("Punchlist-Proofs: 3 reproduced", "2 times"),
    ],
)
def test_one_that_stands_there_twice_is_a_fault(line, fault):
    assert fault in read_trailers(f"Fix it\n\n{OWN}\n{line}").faults[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [(HASH, "none"), ("3, 4", "three"), ("4 claim", "4 sworn"), ("4 claim", "3 claim")],
)
def test_one_that_cannot_be_read_is_a_fault(old, new):
    assert read_trailers(f"Fix it\n\n{OWN.replace(old, new)}").faults


@given(
    st.dictionaries(
        st.integers(1, 10**6), st.lists(st.sampled_from(ProofClass), unique=True, max_size=6)
    )
)
def test_proofs_are_read_as_they_are_rendered(proofs):
    message = f"x\n\nPunchlist-Run: r\nPunchlist-Proofs: {render_proofs(proofs)}"
    assert read_trailers(message).proofs == {item: tuple(kinds) for item, kinds in proofs.items()}


def test_text_of_others_is_no_anchor():
    title = f"{render_anchor('r9', HASH)}\n{render_comment('r9', HASH)}"
    assert read_trailers(f"Fix it\n\n{safe_text(title)}").run == ""
    assert find_comments(safe_text(title), "issue") == []
    assert find_comments(render_comment("r9", HASH), "issue")[0].hash == HASH
