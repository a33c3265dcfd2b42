"""Bringing fixes home: the branch's, or those of what is staged; never half, never over somebody's work."""

import pytest

from punchlist.app.after.apply import apply_branch, discard_branch
from punchlist.app.after.branch_state import standing_of, standings_of
from punchlist.errors import RepositoryError, UsageError
from punchlist.model.patch.change import ScopeKind


@pytest.fixture
def staged(place):
    """A new file is staged, with a defect that can be fixed."""
    place.repo.write("shop/news.py", "import os\n\nx = 1\n")
    place.repo.git("add", "--all")
    run = place.run(kind=ScopeKind.STAGED, allow_checks=False)
    assert len(run.landing.landed) == 1
    return place


def apply(place) -> str:
    return place.do(lambda app: apply_branch(app, "last"))


def test_fixes_of_what_is_staged_go_into_the_index_and_the_files_and_make_no_commit(staged):
    head = staged.repo.head
    assert "applied (staged): 1 file" in apply(staged)
    assert staged.repo.git("show", ":shop/news.py") == "\nx = 1"
    assert staged.repo.git("status", "--porcelain") == "A  shop/news.py"
    assert staged.repo.head == head
    assert "already" in apply(staged)


def test_files_that_are_no_longer_as_staged_are_left_alone(staged):
    staged.repo.write("shop/news.py", "import os\n\nx = 2\n")
    with pytest.raises(RepositoryError, match="not as they were staged") as caught:
        apply(staged)
    assert "git apply --3way" in caught.value.hint
    assert (staged.repo.root / "shop/news.py").read_text() == "import os\n\nx = 2\n"


def test_a_branch_is_brought_home_and_can_be_discarded(place):
    run = place.run(allow_checks=False)
    assert "applied (fast-forward)" in apply(place)
    assert place.repo.head == run.landing.shown_tip
    assert "already" in apply(place)
    assert "is gone" in place.do(lambda app: discard_branch(app, "last"))
    assert place.repo.git("branch", "--list", "punchlist/*") == ""
    assert place.audit().ok


def standing(place) -> tuple[str, str]:
    """What became of the last run's fixes, as one run and as a line of the list has it."""

    async def work(app):
        rows = app.runs()
        return await standing_of(app, app.load("last")), (await standings_of(app, rows))[rows[0].id]

    return place.do(work)


def test_git_says_what_became_of_the_fixes_and_what_was_discarded_cannot_be_applied(place):
    run = place.run(allow_checks=False)
    assert standing(place) == ("", "")
    place.do(lambda app: discard_branch(app, "last"))
    assert standing(place) == ("discarded", "discarded")
    with pytest.raises(
        UsageError, match=f"run {run.id} was discarded: its branch is gone"
    ) as caught:
        apply(place)
    place.repo.git(*caught.value.hint.partition(",")[0].split()[1:])
    assert "applied" in apply(place)
    assert standing(place) == ("applied", "applied")


def test_one_commit_of_all_fixes_counts_as_applied_even_without_the_branch(place):
    place.run(allow_checks=False)
    place.do(lambda app: apply_branch(app, "last", squash=True))
    assert standing(place) == ("applied", "applied")
    place.do(lambda app: discard_branch(app, "last", force=True))
    assert standing(place) == ("applied", "applied")


def test_fixes_of_what_is_staged_count_as_applied_once_they_are_in_the_index(staged):
    assert standing(staged) == ("", "")
    apply(staged)
    assert standing(staged) == ("applied", "applied")


def test_where_nothing_was_fixed_there_is_nothing_to_apply(place):
    place.run(allow_checks=False, workflow="review")
    with pytest.raises(UsageError, match="landed no fix, so there is nothing to apply"):
        apply(place)
