"""What an agent left in its tree is told apart: whose work it is, and what was there before."""

from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.checks.protected import Protected
from punchlist.model.finding.finding import Spot
from punchlist.model.integrity.hunk_ownership import AskedItem
from punchlist.model.integrity.patch_ownership import (
    find_absorbed,
    find_extra_files,
    find_refusal,
    separate_own,
    split_patch,
    update_batch,
)
from punchlist.model.item.batch import AGENT, Batch
from punchlist.model.item.claim import ClaimOutcome, ItemClaim
from punchlist.model.patch.patch import FileChange, Patch, combine_patches, splices_between

TEXT = "".join(f"line {n}\n" for n in range(12))


def edited(*lines: int, text=TEXT, by="changed") -> str:
    parts = text.splitlines(keepends=True)
    for line in lines:
        parts[line] = f"{by} {line}\n"
    return "".join(parts)


def patch(after: str, path="a.py", before=TEXT) -> Patch:
    return Patch(tuple(splices_between(path, before, after)))


def batch(number, *paths, items=None) -> Batch:
    return Batch(number=number, items=items or (number,), fixer=AGENT, title="t", paths=paths)


def test_work_on_other_lines_stands_by_itself():
    first, both = edited(1), edited(8, text=edited(1))
    found = separate_own(patch(both), [patch(first)], {"a.py": TEXT})
    assert not found.over
    assert combine_patches([found.patch], {"a.py": TEXT}) == {"a.py": edited(8)}


def test_work_over_the_same_lines_brings_the_earlier_work_along():
    first, both = edited(1), edited(1, text=edited(1), by="again")
    found = separate_own(patch(both), [patch(first)], {"a.py": TEXT})
    assert found.over
    assert combine_patches([found.patch], {"a.py": TEXT}) == {"a.py": both}


@given(st.sets(st.integers(0, 11), max_size=4), st.sets(st.integers(0, 11), max_size=4))
def test_whatever_two_agents_do_one_after_the_other_together_it_is_what_the_tree_had(one, two):
    first = edited(*one)
    last = edited(*two, text=first, by="second")
    found = separate_own(patch(last), [patch(first)], {"a.py": TEXT})
    both = [found.patch] if found.over else [patch(first), found.patch]
    assert combine_patches(both, {"a.py": TEXT}).get("a.py", TEXT) == last


def test_a_file_that_was_made_before_is_not_made_again():
    made = FileChange("new.py", "x = 1\n")
    found = separate_own(Patch(files=(made, FileChange("b.py", "y"))), [Patch(files=(made,))], {})
    assert [change.path for change in found.patch.files] == ["b.py"]
    assert separate_own(
        Patch(files=(FileChange("new.py", "x = 2\n"),)), [Patch(files=(made,))], {}
    ).over


def test_one_patch_of_several_batches_is_shared_out_by_file():
    both = Patch(
        (*patch(edited(1)).splices, *patch(edited(2), "b.py").splices),
        (FileChange("c.py", "c"), FileChange("d.py", "d")),
    )
    said = [ItemClaim(1, ClaimOutcome.FIXED), ItemClaim(2, ClaimOutcome.FIXED, files=("c.py",))]
    asked = {each.item: [AskedItem(each.item, Spot(""), each)] for each in said}
    found = split_patch(both, [batch(1, "a.py"), batch(2, "b.py")], asked, {})
    assert {number: part.paths for number, part in found.items()} == {
        1: ("a.py", "d.py"),
        2: ("b.py", "c.py"),
    }


def test_a_test_goes_with_the_fix_that_it_was_written_for():
    both = Patch(
        (*patch(edited(1)).splices, *patch(edited(2), "b.py").splices),
        (FileChange("tests/test_a.py", "a"), FileChange("tests/test_b.py", "b")),
    )
    said = [
        ItemClaim(
            number, ClaimOutcome.FIXED, files=(f"{name}.py",), tests=(f"tests/test_{name}.py",)
        )
        for number, name in ((1, "a"), (2, "b"))
    ]
    asked = {each.item: [AskedItem(each.item, Spot(""), each)] for each in said}
    found = split_patch(both, [batch(1, "a.py"), batch(2, "b.py")], asked, {})
    assert {number: part.paths for number, part in found.items()} == {
        1: ("a.py", "tests/test_a.py"),
        2: ("b.py", "tests/test_b.py"),
    }


@given(st.lists(st.sampled_from(["a.py", "b.py", "c.py", "d.py", "e.py"]), unique=True))
def test_nothing_of_a_patch_is_lost_or_doubled_when_it_is_shared_out(paths):
    whole = Patch(files=tuple(FileChange(path, path) for path in paths))
    asked = {2: [AskedItem(2, Spot("c.py"), ItemClaim(2, ClaimOutcome.FIXED))]}
    parts = split_patch(whole, [batch(1, "a.py", "b.py"), batch(2, "c.py")], asked, {})
    assert sorted(change.path for part in parts.values() for change in part.files) == sorted(paths)


def test_existing_tests_and_any_configuration_are_the_judges_and_new_tests_are_not():
    present = frozenset({"a.py", "tests/test_a.py"})
    protected = Protected()

    def turned(*paths):
        change = Patch(files=tuple(FileChange(path, "x") for path in paths))
        found = update_batch(batch(1, "a.py"), change, protected, present)
        return found.protected, found.mixed

    assert turned("a.py", "tests/test_new.py") == (False, False)
    assert turned("a.py", "tests/test_a.py") == (True, True)
    assert turned("conftest.py") == (True, False)
    assert turned("a.py") == (False, False)


def test_files_that_no_finding_is_about_are_noted_but_new_tests_are_asked_for():
    change = Patch(files=(FileChange("b.py", "x"), FileChange("tests/test_new.py", "x")))
    assert find_extra_files(batch(1, "a.py"), change, frozenset({"a.py", "b.py"}), Protected()) == (
        "b.py: touched, and no finding here is about it",
    )


def test_a_link_is_never_laid_anywhere():
    assert "symbolic link" in find_refusal(Patch(files=(FileChange("x", "/etc/passwd", "120000"),)))
    assert not find_refusal(Patch(files=(FileChange("x", None),)))


@given(
    st.sets(st.integers(0, 11), min_size=1, max_size=3),
    st.sets(st.integers(0, 11), max_size=4),
    st.booleans(),
)
def test_what_is_not_taken_in_stands_beside_what_came_after(one, two, undone):
    """Whoever wrote over earlier work has it in their own patch, or has undone it; never do both speak for the same lines."""
    first = edited(*one)
    last = edited(*two, text=TEXT if undone else first, by="second")
    found = separate_own(patch(last), [patch(first)], {"a.py": TEXT})
    if found.over and not find_absorbed({1: patch(first)}, {2: found.patch}):
        assert combine_patches([patch(first), found.patch], {"a.py": TEXT})["a.py"] == edited(
            *one, text=last
        )


def test_an_earlier_patch_is_taken_in_by_the_part_that_has_its_lines():
    other = patch(edited(2), "b.py")
    assert find_absorbed({1: patch(edited(1))}, {2: other, 3: patch(edited(1, by="again"))}) == {
        1: 3
    }
    assert find_absorbed({1: patch(edited(1))}, {2: other}) == {}
