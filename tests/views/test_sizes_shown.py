"""A run with many items is shown with work for what is printed, and little for each of the others."""

import sys

import pytest

from made import made_run
from punchlist.cli.drawing import draw_lines
from punchlist.cli.show.review import render_review
from punchlist.cli.show.summary import render_summary
from punchlist.cli.show.tables import items_table
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, reading_order


def make_item(number):
    spot = Spot(f"src/m{number % 40}.py", number)
    lead = Finding(
        id=f"f{number}",
        source="ruff",
        rule="S101",
        title=f"Use of assert number {number}",
        spot=spot,
        severity=Severity.MAJOR,
    )
    return Item(number=number, fingerprint=f"{number:032}", findings=(lead,))


def show_items(run):
    ordered = sorted(run.items.values(), key=reading_order)
    return [items_table(run, ordered[:50])]


SHOWN = {
    "status of a review": (lambda run: render_review(run, most=50), 20),
    "status of a run": (render_summary, 30),
    "show": (show_items, 6),
}


@pytest.mark.parametrize("name", SHOWN)
def test_each_further_item_costs_few_calls_and_no_line(name):
    render, most = SHOWN[name]

    def count(items):
        run = made_run(items={n: make_item(n) for n in range(1, items + 1)}, ended="leftovers")
        calls = 0

        def add(frame, event, _):
            nonlocal calls
            calls += event == "call"

        sys.setprofile(add)
        try:
            lines = len(list(draw_lines(render(run), 160)))
        finally:
            sys.setprofile(None)
        return calls, lines

    (few, lines), (many, more_lines) = count(1000), count(3000)
    assert lines == more_lines < 120
    assert (many - few) / 2000 <= most, "calls of Python functions for one more item"
