"""What others wrote is shown as it is: it styles nothing, steers nothing, and is not lost; and ten thousand items are no burden."""

import unicodedata

import pytest
from crowd import Ledger, crowd
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from window import opened

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger import events as ev
from punchlist.tui.board import (
    ALL,
    OUTSIDE,
    SHELVES,
    ItemBoard,
    count_shelves,
    item_row,
    next_shelf,
    shelf_bar,
)
from punchlist.tui.item_text import item_lines
from punchlist.tui.text import block, fit_text, line
from punchlist.tui.virtual_list import Rows
from punchlist.views.item_list import ItemFilter
from punchlist.views.words import clock

HOSTILE = "[red]not red[/red] \x1b]0;owned\x07\x1b[2J [@click=app.exit]here[/] \u202egnp.exe \x9b31m $text-error"


@pytest.fixture
def a_commit(repo):
    repo.commit({"a.py": ""})
    return repo


def steering(text: str) -> list[str]:
    """Characters that would do something to a terminal."""
    return [
        each
        for each in text
        if unicodedata.category(each) in ("Cc", "Cf", "Cs") and each not in "\n\u00ad"
    ]


@given(st.text(), st.text())
@example("\U0001d173", "\U000e0041")
def test_no_text_of_others_steers_the_terminal_or_begins_a_line(text, more):
    shown = line(text, (more, "bold"))
    assert not steering(shown.plain)
    assert "\n" not in shown.plain
    assert all(not steering(each.plain) and "\n" not in each.plain for each in block(text))


@given(st.text(alphabet="[]/abred@=()' $.", max_size=40))
def test_brackets_are_letters_like_any_other(text):
    assert line(text).plain == text
    assert not line(text).spans or all(not span.style for span in line(text).spans)


@given(st.text(alphabet="ab/", max_size=60), st.integers(2, 40))
def test_a_column_has_its_width(text, width):
    assert len(fit_text(text, width)) == width
    assert len(fit_text(text, width, tail=True)) == width


def test_time_is_told_as_on_a_clock():
    assert [clock(seconds) for seconds in (-1, 3.9, 65, 7389)] == ["0s", "3s", "1:05", "2:03:09"]


def hostile_item() -> Item:
    finding = Finding(
        id="f1",
        source=HOSTILE,
        title=HOSTILE,
        detail=f"{HOSTILE}\n{HOSTILE}",
        spot=Spot(f"a/{HOSTILE}.py", 3),
        severity=Severity.CRITICAL,
        code=HOSTILE,
        suggestion=HOSTILE,
        url=f"https://example.org/{HOSTILE}",
        marks=(HOSTILE,),
    )
    return Item(number=1, fingerprint="a" * 32, findings=(finding,), flags=(HOSTILE,))


def test_a_hostile_title_is_text_on_the_board_and_on_its_page(a_commit, tmp_path):
    ledger = crowd(tmp_path / "state", a_commit.root, 12)
    ledger.tell(ev.Consolidated(items=(replace(hostile_item(), number=13),)), "1.2.1")
    ledger.tell(ev.Asked(question=HOSTILE, choices={"a": HOSTILE, "b": "leave it"}), "1.2.2")

    async def journey(window):
        await window.press("slash")
        await window.type("not red")
        text = await window.until("1 shown")
        assert "[red]not red[/red]" in text
        assert "The run asks (press a to answer): [red]not red[/red]" in text
        await window.press("enter")
        await window.press("enter")
        text = await window.until("Reported by")
        assert "[@click=app.exit]here[/]" in text
        await window.press("escape", "a")
        await window.until("a) [red]not red[/red]")
        assert not steering(window.text)
        svg = window.app.export_screenshot()
        assert "\x1b" not in svg
        await window.press("escape", "2", "3", "4")
        assert not steering(window.text)

    opened(a_commit.root, tmp_path / "state", journey)
    run = ledger.run
    assert all(not steering(each.plain) for each in item_lines(run, run.items[13]))


def test_ten_thousand_items_cost_no_more_than_a_screenful(a_commit, tmp_path, monkeypatch):
    ledger = crowd(tmp_path / "state", a_commit.root, 10_000)
    drawn = []
    monkeypatch.setattr(
        "punchlist.tui.run_screen.item_row",
        lambda *row, **how: drawn.append(row) or item_row(*row, **how),
    )

    async def journey(window):
        await window.until("[all 10,000]")
        rows = window.app.screen.query_one("#list", Rows)
        assert len(rows.keys) == 10_000
        await window.press("end")
        await window.until(lambda: rows.cursor == 9_999)
        await window.press("home", "pagedown")
        await window.press("slash")
        await window.type("f_777")
        await window.until("11 shown")
        await window.press("enter", "enter")
        await window.until("Reported by")
        await window.press("escape", "escape")
        await window.until("[all 10,000]")
        assert len(drawn) < 2_000, "only what is on the screen is drawn"
        numbers = rows.keys[:3]
        ledger.tell(ev.Halted(limit="time"), "limit")
        await window.press("3")
        await window.until("a limit was reached")
        assert window.app.screen.query_one("#list", Rows).keys[:3] == numbers
        assert len(drawn) < 2_000

    opened(a_commit.root, tmp_path / "state", journey, size=(80, 24))


def test_what_another_process_writes_comes_by_itself(a_commit, tmp_path):
    home = tmp_path / "state"
    ledger = crowd(home, a_commit.root, 24)
    other = Ledger(SqliteStore.open(home), ledger.run.id)
    other.run = ledger.run

    async def journey(window):
        await window.until("[all 24]")
        await window.press("down", "down")
        rows = window.app.screen.query_one("#list", Rows)
        chosen = rows.key
        other.tell(ev.Consolidated(items=(replace(hostile_item(), number=25),)), "1.2.1")
        await window.until("[all 25]")
        assert rows.key == chosen, "the cursor stays with its item"
        other.tell(ev.Ended(outcome="incomplete"), "end", "ended")
        await window.until("unresolved: some findings are left")

    opened(a_commit.root, home, journey)


def test_every_item_is_on_one_shelf_and_all_of_them_add_up(a_commit, tmp_path):
    run = crowd(tmp_path / "state", a_commit.root, 240).run
    known = count_shelves(run)
    assert known[ALL.name] == sum(known[status.value] for status in Status) == 240
    shelves = ItemBoard()
    for shelf in SHELVES:
        assert len(shelves.select_items(run, shelf, ItemFilter())) == known[shelf.name]
    worst = [
        run.items[number].severity.rank for number in shelves.select_items(run, ALL, ItemFilter())
    ]
    assert worst == sorted(worst)


def test_going_along_the_shelves_passes_over_empty_ones_and_comes_round(a_commit, tmp_path):
    known = count_shelves(crowd(tmp_path / "state", a_commit.root, 3).run)
    seen, shelf = [], ALL
    while not seen or shelf != ALL:
        seen.append(shelf.name)
        shelf = next_shelf(shelf, 1, known)
    assert seen == [
        ALL.name,
        *(name for name, count in known.items() if count and name not in (ALL.name, OUTSIDE.name)),
    ]
    assert next_shelf(ALL, -1, known).name == seen[-1]


@pytest.mark.parametrize("width", [40, 78, 120])
def test_rows_and_bars_fit_their_width(width):
    bar = shelf_bar(dict.fromkeys((shelf.name for shelf in SHELVES), 3), ALL, width)
    assert bar.plain.startswith("[all 3]")
    row = item_row(hostile_item(), width, status=True)
    assert row.plain.lstrip().startswith("1 critical open")
    empty = shelf_bar({ALL.name: 0}, ALL, 40)
    assert empty.plain.strip() == "[all 0]"
