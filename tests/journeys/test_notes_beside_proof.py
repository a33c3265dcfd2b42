"""What was seen of a fix and proves nothing stands beside its proof: on the terminal, on the page, in reports and in the commit."""

import pytest

pytest.importorskip("litestar")
from workbench import fix, fixer, review

from punchlist.adapters.reports import REPORTS
from punchlist.app.access import Role
from punchlist.app.repositories import RepositoryEntry
from punchlist.cli.drawing import draw_lines
from punchlist.cli.show.item import render_item
from punchlist.model.item.item import Status
from punchlist.web.pages.item.page import build_view
from punchlist.web.pages.rendering import render_template
from punchlist.web.security.tokens import Visitor

BESIDE = "touches shop/pages.py, which no finding is about"
VACUOUS = "tests/test_mean.py is no witness: it passes without the fix, too"
TEST = (
    "import unittest\n\nfrom shop.prices import mean\n\n\n"
    "class Mean(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(mean([2]), 2)\n"
)


def page_of(run):
    return render_template(
        "item.html",
        view=build_view(run, 1, driven=False),
        kept=frozenset(),
        run=run,
        visitor=Visitor("1", Role.ADMIN, "ada"),
        repository=RepositoryEntry(id="r", name="shop", root="/shop", git_dir="/shop/.git"),
    )


def test_notes_stand_beside_the_proof_wherever_the_proof_is_shown(bench):
    done = fix("mean", tests=["tests/test_mean.py"])
    more = [
        {"path": "shop/pages.py", "append": "\n\nSEEN = 1\n"},
        {"path": "tests/test_mean.py", "content": TEST},
    ]
    bench.play(review("mean"), fixer({**done, "edits": [*done["edits"], *more]}))
    run = bench.run("verified")
    item = run.items[1]
    assert item.status is Status.FIXED
    assert sum("shop/pages.py" in note for note in item.notes) == 1, "it is said once"
    shown_item = "\n".join(draw_lines(render_item(item, None), 300))
    message = bench.repo.git("log", "-1", "--format=%B", run.landing.branch)
    shown = {
        "terminal": shown_item.partition("Proof")[2],
        "commit": message.partition("Proof: ")[2].partition("Punchlist-Run")[0],
        "page": page_of(run).partition('id="h-proof"')[2],
        **{
            form: REPORTS[form](run).decode()
            for form in ("report.json", "report.html", "report.md")
        },
    }
    for place, text in shown.items():
        words = " ".join(text.split())
        assert BESIDE in words, place
        assert VACUOUS in words, place
