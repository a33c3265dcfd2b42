"""Edits on top of patches: the text is what edits in turn give, and each owner has its own part."""

from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.finding.finding import Splice
from punchlist.model.patch.layered_edits import LayeredEdits
from punchlist.model.patch.patch import apply_splices, has_overlap

words = st.text("abc\n", max_size=3)


@st.composite
def apart(draw, length: int) -> list[Splice]:
    """Edits of a text that neither overlap nor touch."""
    ends = sorted(draw(st.sets(st.integers(0, length), max_size=8)))
    pairs = zip(ends[::2], ends[1::2], strict=False)
    return [Splice("a.py", first, last, draw(words)) for first, last in pairs]


@given(st.data())
def test_edits_in_turn_and_the_splices_of_the_original_give_the_same_text(data):
    before = data.draw(st.text("xyz\n", max_size=24))
    under = data.draw(apart(len(before)))
    layers = LayeredEdits(before, dict(enumerate([each] for each in under)))
    assert layers.text == apply_splices(before, under)
    over = data.draw(apart(len(layers.text)))
    one_owner = LayeredEdits(before, {7: under})
    stacked = one_owner.stack({7: over})
    assert not has_overlap(stacked.get(7, ()))
    assert apply_splices(before, stacked.get(7, ())) == apply_splices(layers.text, over)


@given(st.data())
def test_what_is_not_near_an_edit_keeps_its_splices(data):
    before = data.draw(st.text("xyz\n", max_size=24))
    owned = dict(enumerate([each] for each in data.draw(apart(len(before)))))
    layers = LayeredEdits(before, owned)
    edits = data.draw(apart(len(layers.text)))[:1]
    near = layers.find_near(edits)
    if not edits or len(near) != 1:
        return
    (owner,) = near
    stacked = layers.stack({owner: edits})
    assert {n: list(s) for n, s in stacked.items() if n != owner} == {
        n: s for n, s in owned.items() if n != owner
    }
    flat = [each for splices in stacked.values() for each in splices]
    assert apply_splices(before, flat) == apply_splices(layers.text, edits)
