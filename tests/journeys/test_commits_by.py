"""Commits by rule, by item, or one: fixes of the same lines are one commit, and each item knows its own."""

import pytest
import shop

from needs import rarely
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.after.apply import apply_branch
from punchlist.app.after.audit import audit_run
from punchlist.app.drive.drive import resume_run
from punchlist.errors import UsageError
from punchlist.model.item.batch import CommitGrouping
from punchlist.model.item.item import Status
from punchlist.model.ledger.events import Published
from punchlist.views.report_document import make_report

FILES = {
    "words/__init__.py": "",
    "words/say.py": (
        "import json\n\n\n"
        'def hello(name):\n    return "hello %s" % (name,)\n\n\n'
        'def bye(name):\n    return "bye %s" % (name,)\n\n\n'
        'def price(value):\n    return "price: {}".format(value)\n'
    ),
    "words/none.py": "import os\n\n\ndef empty(value):\n    return value == None\n",
    "tests/__init__.py": "",
    "tests/test_words.py": (
        "import unittest\n\nfrom words.none import empty\nfrom words.say import bye, hello, price\n\n\n"
        "class Words(unittest.TestCase):\n    def test_all(self):\n"
        '        self.assertEqual((hello("a"), bye("b")), ("hello a", "bye b"))\n'
        '        self.assertEqual((price(1), empty(None), empty(1)), ("price: 1", True, False))\n'
    ),
}


@pytest.fixture
def place(repo, tmp_path, monkeypatch):
    repo.commit(FILES, "words")
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(shop.settings(tmp_path / "settings.toml")))
    return shop.Place(repo)


def commits(repo, tip) -> dict[str, tuple[str, set[int]]]:
    """By commit above main: its subject, and the items it names."""
    form = "--format=%H|%s|%(trailers:key=Punchlist-Items,valueonly,separator=%x2C)"
    lines = [line.split("|") for line in repo.git("log", form, f"base..{tip}").splitlines()]
    return {sha: (title, set(map(int, named.split(",")))) for sha, title, named in lines}


def assert_items_know_their_commits(run, made):
    fixed = run.find_items(Status.FIXED)
    assert {item.commit for item in fixed} == set(made) == set(run.landing.commits)
    named = {number: sha for sha, (_, numbers) in made.items() for number in numbers}
    for item in fixed:
        assert named.get(item.number, item.commit) == item.commit


def test_a_rule_is_one_commit_and_apply_groups_anew(place):
    repo = place.repo
    repo.git("tag", "base")
    run = place.run()
    made = commits(repo, run.landing.branch)
    titles = sorted(title for title, _ in made.values())
    assert [title.partition(":")[0] for title in titles] == [
        "Fix E711",
        "Fix F401",
        "Fix UP031",
        "Fix UP032",
    ]
    assert "Fix F401: 2 items" in titles
    assert_items_know_their_commits(run, made)
    assert len(made) == 4
    assert repo.git("rev-parse", run.landing.branch) == run.landing.shown_tip
    report = make_report(run)
    assert {review.commit for review in report.reviewers} == {report.run.tip}
    refs = {each.ref for item in report.items for each in item.attempts if each.fact == "committed"}
    assert refs == set(made)
    assert place.audit().ok
    tree = repo.git("rev-parse", f"{run.landing.branch}^{{tree}}")
    with pytest.raises(UsageError, match="nothing to group"):
        place.do(lambda app: apply_branch(app, "last", squash=True, by=CommitGrouping.ITEM))
    place.do(lambda app: apply_branch(app, "last", by=CommitGrouping.ITEM))
    again = place.do(_load)
    made = commits(repo, "main")
    assert len(made) == 6, "one for each item"
    assert_items_know_their_commits(again, made)
    assert repo.git("rev-parse", "main^{tree}") == tree
    assert place.do(_audit).ok
    assert "already" in place.do(lambda app: apply_branch(app, "last", by=CommitGrouping.ONE))


class PowerCutError(BaseException):
    """Ends the process, as far as the run can see."""


@pytest.mark.parametrize("written", [False, *rarely(True)])
def test_what_was_applied_in_the_middle_stays_and_a_cut_between_branch_and_ledger_is_healed(
    place, monkeypatch, written
):
    repo, append, seen = place.repo, SqliteStore.append, []
    repo.git("tag", "base")

    def cut(store, run, where, key, event, at):
        seen.append(event)
        published = sum(isinstance(each, Published) for each in seen)
        if isinstance(event, Published) and published == (1 if written else 2):
            if written:
                append(store, run, where, key, event, at)
            raise PowerCutError
        return append(store, run, where, key, event, at)

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "append", cut)
        with pytest.raises(PowerCutError):
            place.run()
    place.do(lambda app: apply_branch(app, "last"))
    before = repo.head
    run = place.do(lambda app: resume_run(app, "last", shop.Watch()))
    assert not run.landing.unpublished
    assert_items_know_their_commits(run, commits(repo, run.landing.branch))
    said = place.do(lambda app: apply_branch(app, "last"))
    assert ("fast-forward" if written else "already") in said
    assert repo.git("merge-base", before, run.landing.branch) == before
    assert place.do(_audit).ok


async def _load(app):
    return app.load("last")


async def _audit(app):
    return audit_run(app, "last")
