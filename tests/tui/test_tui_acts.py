"""Every act on a run can be done on every surface, and the terminal view does the later ones."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from workbench import fix, fixer, review

pytest.importorskip("litestar")
from punchlist.cli.root import SECTIONS
from punchlist.model.item.item import Status
from punchlist.tui import actions
from punchlist.tui.item_screen import ItemScreen
from punchlist.tui.run_screen import RunScreen
from punchlist.web.api.runs import ROUTES as API
from punchlist.web.pages.router import ROUTES as PAGES

ACTS = {
    "answer": ("answer", "answers", "answers", "answer"),
    "stop": ("stop", "cancel", "cancel", "stop"),
    "resume": ("resume", "resume", "resume", "resume"),
    "apply": ("apply", "apply", "apply", "apply"),
    "discard": ("discard", "discard", "discard", "discard"),
    "dismiss one item": ("dismiss", "items/{number:int}/dismiss", "dismissals", "dismiss_item"),
    "dismiss many": ("dismiss", "dismiss", "dismissals", "dismiss_items"),
    "take it back": ("dismiss --undo", "items/{number:int}/restore", "dismissals", "restore_item"),
}
"""By act: the command, the form's address below the run, the API's address below it, the action
of a key in the terminal view.
"""
OTHERS = {"ci", "pr", "run", "review", "fix", "baseline", "dismissals"}
"""Commands that start a run, or are about a repository: they act on no run that is there."""
_TEMPLATES = Path(import_module("punchlist.web.pages").__path__[0]) / "templates"
_RUN = "/runs/{run_id:str}/"


def posted(routes) -> set[str]:
    """The addresses below a run that are posted to."""
    return {
        path.removeprefix(_RUN)
        for route in routes
        for path in route.paths
        for method in route.http_methods
        if method == "POST" and path.startswith(_RUN)
    }


def offered_forms() -> set[str]:
    """The addresses below a run that forms of the pages are sent to."""
    text = "\n".join(path.read_text() for path in _TEMPLATES.glob("*.html"))
    plain = re.findall(r'action="/runs/\{\{ run.id \}\}/([^"?]+)"', text)
    made = re.findall(r'action="\{\{ link\("/runs/" ~ run.id ~ "/([^"]+)"', text)
    posts = {re.sub(r"\{\{[^}]+\}\}", "{number:int}", each) for each in (*plain, *made)}
    return posts - {"compare"}


def bound(screen) -> set[str]:
    return {binding.action for binding in screen.BINDINGS}


def column(at: int) -> set[str]:
    return {each[at] for each in ACTS.values()}


def test_the_acts_are_all_there_are_on_each_surface():
    commands = set(SECTIONS["Work"]) - OTHERS
    assert {each.split()[0] for each in column(0)} == commands
    assert posted(PAGES) == offered_forms() == column(1)
    assert posted(API) == column(2)
    functions = {name for name in vars(actions) if re.fullmatch(r"[a-z]+_(run|items?)", name)}
    assert {each if "_" in each else f"{each}_run" for each in column(3)} == functions
    assert column(3) <= bound(RunScreen)
    assert {"dismiss_item", "restore_item"} <= bound(ItemScreen)


@pytest.mark.parametrize("command", sorted(column(0)))
def test_each_command_has_what_the_act_takes(command):
    name, *options = command.split()
    module = import_module(f"punchlist.cli.commands.{name}")
    known = {option for each in module.command.params for option in each.opts}
    assert set(options) <= known


def test_every_key_that_acts_stands_in_the_help():
    keys = {b.key for b in RunScreen.BINDINGS if b.action in column(3)}
    rows = import_module("punchlist.tui.dialogs")._read_help()
    for key in keys:
        assert re.search(rf"(^|\s){key} ", rows, re.MULTILINE), key


@pytest.fixture
def landed(bench):
    """A run with one fault, whose fix has landed."""
    seen = review("page", role="adversarial", round=1), review(role="adversarial")
    bench.play(*seen, fixer(fix("page"))).run("converge")


def test_fixes_are_applied_from_the_window_after_a_question(landed, watching, repo):
    async def journey(window):
        await window.until("The only item is fixed")
        await window.press("A")
        await window.until("Merge 1 commit into the branch")
        await window.press("n")
        assert "(number - 1)" not in (repo.root / "shop/pages.py").read_text()
        await window.press("A")
        await window.until("Merge 1 commit into the branch")
        await window.press("y")
        await window.until("applied (")
        assert "(number - 1)" in (repo.root / "shop/pages.py").read_text()
        await window.press("A", "y")
        await window.until("is part of your branch already")

    watching(journey)


def test_a_branch_is_discarded_from_the_window_after_a_question(landed, watching, repo):
    async def journey(window):
        await window.until("The only item is fixed")
        branch = window.run().landing.branch
        assert branch in repo.git("branch", "--list", branch)
        await window.press("X")
        await window.until("Drop the branch")
        await window.press("y")
        await window.until("is gone; the ledger of run")
        assert repo.git("branch", "--list", branch) == ""
        await window.press("A", "y")
        await window.until("was discarded: its branch is gone")

    watching(journey)


def test_all_items_shown_are_dismissed_for_one_reason_and_no_others(bench, watching):
    bench.play(review("page", "mean", "cheapest"), fixer()).run("review")

    async def journey(window):
        await window.until("3 items")
        await window.press("slash")
        await window.type("mean")
        await window.press("enter", "D")
        await window.until("Why do all 1 item shown need no work?")
        await window.press("escape")
        await window.press("escape", "D")
        await window.until("Why do all 3 items shown need no work?")
        await window.type("generated")
        await window.press("enter")
        await window.until("3 items dismissed")
        items = window.run().items.values()
        assert {each.status for each in items} == {Status.DISMISSED}
        assert {each.attempts[-1].why for each in items} == {"generated"}

    watching(journey)
