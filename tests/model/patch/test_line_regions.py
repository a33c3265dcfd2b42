"""Regions of lines: whatever the grouping, all regions together give the last text."""

from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.patch.line_regions import (
    ChangeLines,
    LineEdit,
    Region,
    find_regions,
    join_changes,
)


def edit(first, last, count, path="a.py"):
    return ChangeLines((LineEdit(path, first, last, count),))


def composed(base, final, regions):
    """The text in which only these regions are as in the last one."""
    lines, at = [], 0
    for region in regions:
        assert region.old_first >= at
        lines += base[at : region.old_first] + final[region.first : region.last]
        at = region.old_last
    return lines + base[at:]


@st.composite
def chains(draw):
    base = [f"old {number}" for number in range(draw(st.integers(0, 12)))]
    texts, changes = [base], []
    for number in range(draw(st.integers(1, 6))):
        text, edits, end = texts[-1], [], len(texts[-1])
        for _ in range(draw(st.integers(1, 3))):  # from below, as each keeps the numbers above it
            last = draw(st.integers(0, end))
            first = draw(st.integers(0, last))
            count = draw(st.integers(0 if first < last else 1, 3))
            new = [f"new {number} {len(edits)} {line}" for line in range(count)]
            edits.append(LineEdit("a.py", first, last, count))
            text = text[:first] + new + text[last:]
            end = first - 1
            if end < 0:
                break
        texts.append(text)
        changes.append(ChangeLines(tuple(edits)))
    return texts, changes


@given(chains())
def test_all_regions_together_give_the_last_text_and_each_change_is_in_one_chain(drawn):
    texts, changes = drawn
    regions = find_regions(changes)
    assert composed(texts[0], texts[-1], regions) == texts[-1]
    homes = join_changes(regions, len(changes))
    for region in regions:
        assert len({homes[number] for number in region.changes}) == 1
    first = {home for home in homes if home == 0}
    mine = [region for region in regions if homes[min(region.changes)] in first]
    text = composed(texts[0], texts[-1], mine)
    foreign = {n for n, home in enumerate(homes) if home}
    assert not any(line.startswith(tuple(f"new {n} " for n in foreign)) for line in text)


def test_neighbouring_lines_are_apart_and_the_same_line_is_one_chain():
    apart = find_regions([edit(1, 2, 1), edit(2, 3, 1), edit(5, 6, 0), edit(5, 6, 1)])
    assert [sorted(region.changes) for region in apart] == [[0], [1], [2], [3]]
    assert join_changes(apart, 4) == [0, 1, 2, 3]
    chain = find_regions([edit(1, 2, 3), edit(8, 9, 1), edit(3, 4, 1)])
    assert join_changes(chain, 3) == [0, 1, 0]
    assert chain[0] == Region("a.py", frozenset({0, 2}), 1, 2, 1, 4)


def test_two_insertions_at_one_point_and_changes_of_a_new_file_are_one_chain():
    inserted = find_regions([edit(3, 3, 1), edit(4, 4, 1), edit(3, 3, 1)])
    assert join_changes(inserted, 3) == [0, 0, 0]
    made = ChangeLines(replaced=("new.py",))
    assert join_changes(find_regions([made, edit(0, 1, 1, "new.py")]), 2) == [0, 0]
    folder = ChangeLines(replaced=("new/a.py",))
    gone = ChangeLines(replaced=("new",))
    assert join_changes(find_regions([gone, folder]), 2) == [0, 0]
