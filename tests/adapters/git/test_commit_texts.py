"""The text that is committed is the text that was verified, to the character."""

import ast
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joinery import edit, whole

from punchlist.adapters.git.fast_import import CommitChain, PatchStages, build_stream
from punchlist.adapters.git.overlay import FileState
from punchlist.errors import RepositoryError
from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import Patch, apply_splices
from punchlist.ports.repository import Draft

CHAIN = CommitChain("refs/heads/punchlist/r1", "0" * 40, "Ada <ada@example.org> 0 +0000")


def several(*splices, message="fix it"):
    return Draft(message, Patch(splices=tuple(Splice("a.py", *each) for each in splices)))


@st.composite
def drafts(draw):
    """A text and drafts on it: replacements side by side, with insertions before them; all of one place in one draft."""
    text = draw(st.text("abc\n\udcffé", max_size=30))
    points = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
    words = st.text("XYZ\n", max_size=3)
    number = st.integers(0, 3)
    patches = [[] for _ in range(4)]
    for start, end in pairwise([*points, len(text)]):
        mine = patches[draw(number)]
        mine += (Splice("a.py", start, start, word) for word in draw(st.lists(words, max_size=3)))
        if start < end and draw(st.booleans()):
            mine.append(Splice("a.py", start, draw(st.integers(start + 1, end)), draw(words)))
    order = draw(st.permutations(range(4)))
    return text, [Patch(splices=tuple(patches[index])) for index in order]


@given(drafts())
def test_drafts_one_after_another_end_where_all_at_once_do(made):
    """Law: however splices are shared out among drafts, each commit has what the drafts up to it come to together."""
    text, patches = made
    stages = PatchStages({"a.py": FileState(text.encode("utf-8", "surrogateescape"), "100644")})
    for count, patch in enumerate(patches, start=1):
        changes = stages.apply_patch(patch)
        expected = apply_splices(
            text, [splice for each in patches[:count] for splice in each.splices]
        )
        if patch:
            assert changes["a.py"].content == expected.encode("utf-8", "surrogateescape")
    stages.check_combined(patches)


def test_two_insertions_at_one_place_are_committed_in_the_order_they_were_verified_in(repo, bench):
    parent = repo.commit({"a.py": "abcdef"})
    desk = bench(repo)
    made = desk.chain(parent, several((3, 3, "X"), (3, 3, "Y")), several((0, 1, "_")))
    assert [desk.git("show", f"{commit}:a.py") for commit in made] == ["abcXYdef", "_bcXYdef"]


def test_a_fix_that_inserts_where_it_replaces_is_committed(repo, bench):
    text = "if x:\n    y = 1\nelse:\n    # why\n    if z:\n        y = 2\n"
    inner = text.index("    if z")
    parent = repo.commit({"a.py": text})
    desk = bench(repo)
    collapsed = several(
        (text.index("else"), inner, ""),
        (inner, inner, "# why\n"),
        (inner, len(text), "elif z:\n    y = 2\n"),
    )
    (made,) = desk.chain(parent, collapsed)
    committed = desk.git("show", f"{made}:a.py")
    assert committed == "if x:\n    y = 1\n# why\nelif z:\n    y = 2"
    ast.parse(committed)


@pytest.mark.parametrize(
    "pair",
    [
        (edit("a.py", 1, 1, "X"), edit("a.py", 1, 1, "Y")),
        (edit("a.py", 0, 2, "X"), edit("a.py", 1, 3, "Y")),
        (edit("a.py", 0, 1, "X"), whole(("a.py", "other"))),
        (whole(("a.py", "one")), whole(("a.py", "other"))),
    ],
)
def test_drafts_whose_order_decides_the_text_are_refused(pair):
    sources = {"a.py": FileState(b"abc", "100644")}
    for drafts in (pair, pair[::-1]):
        with pytest.raises(RepositoryError):
            build_stream(CHAIN, drafts, sources)
