"""Of a patch for several items, only what belongs to items called fixed is kept."""

import pytest

from punchlist.model.finding.finding import Spot
from punchlist.model.integrity.hunk_ownership import AskedItem, split_by_claim
from punchlist.model.item.claim import ClaimOutcome, ItemClaim
from punchlist.model.patch.patch import FileChange, Patch, apply_splices, splices_between

PYTHON = "import os\n\n\n" + "".join(
    f"def f{n}(x):\n    y = x + {n}\n" + "    # long\n" * 12 + "    return y\n\n\n"
    for n in range(4)
)
PLAIN = "".join(f"line {n}\n" for n in range(60))
SIZE = 17


def body(n, last=False):
    """The line of a function's first or last statement, from 1."""
    return 4 + n * SIZE + (14 if last else 1)


def asked(number, outcome, line, path="a.py", files=()):
    claim = outcome and ItemClaim(number, outcome, "", tuple(files))
    return AskedItem(number, Spot(path, line), claim)


def changed(text, *lines, path="a.py"):
    new = text.splitlines(keepends=True)
    for line in lines:
        new[line - 1] = new[line - 1].rstrip("\n") + "  # changed\n"
    return Patch(tuple(splices_between(path, text, "".join(new))))


FIXED, DEFERRED = ClaimOutcome.FIXED, ClaimOutcome.DEFERRED
CONTESTED, BLOCKED = ClaimOutcome.CONTESTED, ClaimOutcome.BLOCKED


@pytest.mark.parametrize("other", [DEFERRED, BLOCKED, None])
def test_what_belongs_to_an_item_that_is_not_fixed_is_left_out(other):
    items = [asked(1, FIXED, body(0)), asked(2, other, body(2))]
    split = split_by_claim(changed(PYTHON, body(0), body(2, last=True)), items, {"a.py": PYTHON})
    kept = apply_splices(PYTHON, split.kept.splices).splitlines()
    assert [n for n, line in enumerate(kept, 1) if "changed" in line] == [body(0)]
    assert list(split.dropped) == [2]
    assert not split.unclear


def test_in_other_languages_the_nearest_finding_owns_a_change():
    items = [asked(1, FIXED, 10, "a.js"), asked(2, DEFERRED, 30, "a.js")]
    split = split_by_claim(changed(PLAIN, 12, 28, path="a.js"), items, {"a.js": PLAIN})
    assert [splice.text for splice in split.kept.splices] == ["line 11  # changed\n"]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ((body(0), body(2), 1), "an import may be for either"),
        ((body(0), body(2), body(3)), "a third function may be for either"),
    ],
)
def test_what_cannot_be_told_apart_keeps_nothing(lines, why):
    items = [asked(1, FIXED, body(0)), asked(2, DEFERRED, body(2))]
    split = split_by_claim(changed(PYTHON, *lines), items, {"a.py": PYTHON})
    assert (split.kept, split.unclear) == (Patch(), (2,)), why


def test_two_items_on_one_line_cannot_be_told_apart():
    items = [asked(1, FIXED, body(0)), asked(2, DEFERRED, body(0))]
    split = split_by_claim(changed(PYTHON, body(0)), items, {"a.py": PYTHON})
    assert split.unclear == (2,)


@pytest.mark.parametrize(
    ("items", "lines"),
    [
        ([asked(1, FIXED, body(0)), asked(2, FIXED, body(2))], (body(0), body(2), 1)),
        ([asked(1, FIXED, body(0)), asked(2, CONTESTED, body(0))], (body(0), 1)),
        ([asked(1, FIXED, body(0)), asked(2, DEFERRED, body(2))], (body(0), body(0, last=True), 1)),
        ([asked(1, FIXED, body(0)), asked(2, DEFERRED, 9, "b.py")], (body(0), body(3), 1)),
        ([asked(1, FIXED, body(0)), asked(2, BLOCKED, body(0))], (body(0), 1)),
    ],
)
def test_where_others_have_no_change_everything_is_kept(items, lines):
    patch = changed(PYTHON, *lines)
    assert split_by_claim(patch, items, {"a.py": PYTHON}).kept == patch


def test_new_files_belong_to_the_claim_that_names_them():
    ours, theirs = FileChange("tests/test_a.py", "x"), FileChange("tests/test_b.py", "y")
    items = [
        asked(1, FIXED, body(0), files=["tests/test_a.py"]),
        asked(2, DEFERRED, body(2), files=["tests/test_b.py"]),
    ]
    split = split_by_claim(Patch(files=(ours, theirs)), items, {})
    assert (split.kept.files, split.dropped[2].files) == ((ours,), (theirs,))
