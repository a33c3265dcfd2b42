"""Looking at a run: the board, one item, the story, the checks; with the keyboard, at any size, light or dark."""

import pytest
import workbench
from window import opened
from workbench import FAULTS, fix, fixer, review

from punchlist.model.item.item import Status
from punchlist.tui.virtual_list import Rows


@pytest.fixture(scope="module")
def ended(shared_repo):
    """Two fixed, one put off, one contested or filed; ended. Whoever changes it must change it back."""
    with pytest.MonkeyPatch.context() as patch:
        workbench.homes(shared_repo.root.parent, patch)
        return finish_run(workbench.Workbench(shared_repo, shared_repo.root.parent))


@pytest.fixture
def watching(ended, monkeypatch):
    """`watching(journey)` opens a window on the run that all these tests look at."""
    workbench.homes(ended.folder, monkeypatch)
    return lambda journey, **more: opened(ended.repo.root, ended.folder / "state", journey, **more)


def finish_run(bench):
    bench.play(
        review("page", "cheapest", "mean", "initials", role=["technical", "spec"]),
        fixer(
            fix("page"),
            fix("cheapest"),
            fix("mean", "deferred", "tried, the cause is elsewhere"),
            fix("initials"),
        ),
    )
    bench.run("accountable")
    return bench


def test_the_board_has_every_item_and_counts_by_status(ended, watching):
    async def journey(window):
        text = await window.until("initials() fails")
        run = window.run()
        assert all(title in text for title, *_ in FAULTS.values())
        for status in (Status.FIXED, Status.FILED):
            assert f"{status} {len(run.find_items(status))}" in text
        assert f"[all {len(run.items)}]" in text
        assert run.ended
        await window.press("right")
        while "[fixed" not in window.text:
            await window.press("right")
        shown = window.app.screen.query_one("#list", Rows).keys
        assert {run.items[number].status for number in shown} == {Status.FIXED}

    watching(journey)


def test_an_item_tells_what_was_found_tried_proven_and_changed(ended, watching):
    async def journey(window):
        await window.until("page() skips")
        await window.press("slash")
        await window.type("skips the first")
        await window.until("1 shown")
        await window.press("enter", "enter")
        text = await window.until("Reported by")
        for part in (
            "Item 1 · fixed · critical · shop/pages.py:5",
            "Code of",
            "Change, landed as",
            "History",
            "Proof",
            "claim",
        ):
            assert part in text, part
        assert "-    return rows[number * size : number * size + size]" in text
        assert "+    return rows[(number - 1) * size : number * size]" in text
        assert ">     5     return rows[number * size" in text
        await window.press("escape")
        await window.until("1 shown")
        await window.press("escape")
        await window.until("initials() fails")

    watching(journey)


def test_the_next_item_is_a_key_away_and_the_list_comes_along(ended, watching):
    async def journey(window):
        await window.until("page() skips")
        await window.press("enter")
        first = (await window.until("Reported by")).splitlines()[0]
        await window.press("n")
        await window.until(lambda: window.text.splitlines()[0] != first)
        number = window.app.screen.number
        await window.press("escape")
        await window.until("[all")
        assert window.app.screen.query_one("#list", Rows).key == number

    watching(journey)


def test_only_one_severity_is_shown_where_that_is_wanted(ended, watching):
    async def journey(window):
        await window.until("page() skips")
        await window.press("s")
        text = await window.until("only critical")
        assert "initials()" not in text
        await window.press("escape")
        await window.until("initials() fails")

    watching(journey)


def test_the_story_and_the_checks_are_a_key_away(ended, watching):
    async def journey(window):
        await window.until("page() skips")
        await window.press("3")
        text = await window.until("the run ended")
        assert "technical (robot) reports" in text
        await window.press("enter")
        await window.until("Escape closes this")
        assert "the run ended" in window.text
        await window.press("escape")
        await window.press("4")
        text = await window.until("Reviewers")
        assert "played by robot" in text
        assert "Not checked" in text
        await window.press("2")
        await window.until("the run has ended")
        await window.press("shift+tab")
        await window.until("page() skips")

    watching(journey)


def test_the_list_of_runs_names_the_repository_also_where_its_path_is_long(ended, watching):
    async def journey(window):
        await window.until("Enter looks at one")
        text = await window.until("unresolved")
        assert f"/{ended.repo.root.name}" in text

    watching(journey, run="", size=(80, 24))


def test_it_works_in_a_small_terminal_and_no_word_depends_on_colour(ended, watching):
    async def journey(window):
        text = await window.until("page() skips")
        assert all(len(each) <= 80 for each in text.splitlines())
        assert len(text.splitlines()) == 24
        assert "> " in text, "the cursor is a mark, too"
        assert "[1 items" in text, "and so is the view"
        dark = window.app.theme
        await window.press("t")
        assert window.app.theme != dark
        await window.until("page() skips")
        await window.press("question_mark")
        await window.until("needs no work, with a reason")
        await window.press("escape")
        await window.until("page() skips")

    watching(journey, size=(80, 24))


def test_in_a_wide_terminal_the_item_under_the_cursor_stands_beside_the_list(ended, watching):
    async def journey(window):
        await window.until("Code of shop/pages.py:5")
        assert "initials() fails for two spaces" in window.text
        await window.press("down")
        await window.until("Code of shop/prices.py:13")

    watching(journey, size=(160, 40))


def test_a_dismissal_ends_an_item_with_its_reason_and_can_be_taken_back(ended, watching):
    async def journey(window):
        await window.until("initials() fails")
        run = window.run()
        number = next(item.number for item in run.find_items(Status.FILED))
        await window.press("slash")
        await window.type(run.items[number].lead.title[:12])
        await window.press("enter", "d")
        await window.until("need no work?")
        await window.type("generated code")
        await window.press("enter")
        await window.until(lambda: window.run().items[number].status is Status.DISMISSED)
        assert window.run().items[number].attempts[-1].why == "generated code"
        assert window.run().items[number].attempts[-1].by == "pat", (
            "who sits there, where git has no name"
        )
        await window.press("u")
        await window.until(lambda: window.run().items[number].status is Status.FILED)

    watching(journey)


def test_what_is_fixed_cannot_be_dismissed_and_that_is_said(ended, watching):
    async def journey(window):
        await window.until("page() skips")
        await window.press("enter")
        await window.until("Reported by")
        await window.press("d")
        await window.until("it cannot be dismissed")

    watching(journey)


def test_runs_are_listed_and_one_is_chosen(bench):
    finish_run(bench).run("review", force=True)

    async def journey(window):
        text = await window.until("unresolved")
        assert (
            len([each for each in text.splitlines() if each.strip().startswith(("2", "> 2"))]) == 2
        )
        await window.press("down", "enter")
        await window.until("accountable")
        await window.press("escape")
        await window.until("Enter looks at one")

    opened(bench.repo.root, bench.folder / "state", journey, run="")


def test_a_run_that_ended_asks_nothing_and_goes_on_with_nothing(ended, watching):
    async def journey(window):
        await window.until("page() skips")
        for key, said in (
            ("a", "asks nothing"),
            ("r", "has ended"),
            ("c", "no process drives this run"),
        ):
            await window.press(key)
            await window.until(said)

    watching(journey)
