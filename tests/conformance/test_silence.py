"""An analyzer that was silenced is no witness: it is asked again with its suppressions off, or without the comments that a fix adds."""

import asyncio
import re

import pytest
from msgspec.structs import replace
from scripted import MemoryTree, Words

from made import STARTED
from punchlist.model.finding.severity import Severity
from punchlist.model.integrity.new_comments import strip_new_comments
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Item, Status
from punchlist.model.ledger.run import Landing, LatestReview, Reviewing, RoundWork, Run
from punchlist.model.patch.patch import Patch, splices_between
from punchlist.steps.judging.recheck import Recheck, recheck_batches

MAJOR = Severity.MAJOR
QUIET = re.compile(r"(?:#|//|--).*\bquiet\b", re.IGNORECASE)
QUIET_FILE = re.compile(r"(?:#|//|--).*\bquiet everywhere\b", re.IGNORECASE)


class Hushed(Words):
    """Minds words, but not on lines with a comment that says quiet, unless `bare`; or in a file with one for all of it."""

    def __init__(self, name="words", *, bare=False, broken="", **words) -> None:
        super().__init__(name, **words)
        self.bare, self.broken = bare, broken

    def _in(self, tree, path):
        lines = tree.text(path).split("\n")
        whole = QUIET_FILE.search(tree.text(path))
        for found in super()._in(tree, path):
            if self.bare or not (whole or QUIET.search(lines[found.spot.line - 1])):
                yield found


WORDS = {"bad": (MAJOR, None), "worse": (Severity.CRITICAL, None)}


class Case:
    """One agent's patch of a file, for the items that `aim` names by rule."""

    def __init__(self, make_bench, before, after, aim=("bad",), path="a.py", **options) -> None:
        analyzer = Hushed(**WORDS)
        self.world = make_bench({path: before}, analyzer).world("r")
        self.world = replace(self.world, **options)
        tree = MemoryTree("base", {path: before})
        said = asyncio.run(analyzer.analyze(tree, None)).findings
        items = {
            n: Item(
                number=n,
                fingerprint=f"p{n}",
                findings=(each,),
                status=Status.CLAIMED if each.rule in aim else Status.OPEN,
            )
            for n, each in enumerate(said, 1)
        }
        aimed = tuple(n for n, item in items.items() if item.lead.rule in aim)
        patch = Patch(splices=tuple(splices_between(path, before, after)))
        batch = Batch(number=1, items=aimed, fixer="agent", title="t", paths=(path,))
        reviews = {"words": LatestReview("words", "base")}
        self.run = Run(
            id="r",
            started=replace(STARTED, reviewers=("words",)),
            landing=Landing(tip="base"),
            items=items,
            reviewing=Reviewing(reviews=reviews),
            work=RoundWork(batches={1: batch}, patches={1: patch}),
        )

    def recheck(self):
        return asyncio.run(recheck_batches(Recheck((1,)), self.run, self.world))


BARE = {"unsuppressed": {"words": Hushed(bare=True, **WORDS)}}


@pytest.mark.parametrize("options", [BARE, {}], ids=["switched off", "without new comments"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x\nbad\ny\n", "x\nbad  # quiet\ny\n"),
        ("x\nbad\ny\n", "# tool says: Quiet everywhere!\nx\nbad\ny\n"),
        ("x\nbad\ny\n", "x\ny\n\nbad  # is quiet here\n"),
        ("x  # quiet\nbad\ny\n", "x\nw\nv\nu\nbad  # quiet\ny\n"),
    ],
)
def test_a_fix_that_silences_the_tool_is_refused_whatever_the_comment_says(
    make_bench, before, after, options
):
    said = Case(make_bench, before, after, **options).recheck()
    assert said.passed == said.silent == ()
    assert "hides a finding instead of fixing it" in said.failed[1]
    assert "words reports bad: `bad` is not for here (a.py:" in said.failed[1]


@pytest.mark.parametrize("options", [BARE, {}], ids=["switched off", "without new comments"])
def test_a_fix_that_hides_the_finding_of_another_item_is_refused(make_bench, options):
    before, after = "bad\n\n\nworse\n", "good\n\n\nworse  # quiet\n"
    assert "hides" in Case(make_bench, before, after, **options).recheck().failed[1]


@pytest.mark.parametrize("options", [BARE, {}], ids=["switched off", "without new comments"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("bad\n", "good  # not quiet any more\n"),
        ("bad\nbad  # quiet\n", "good\nbad  # quiet\n"),
        ("x\nbad\nbad  # quiet\n", "bad  # quiet\ngood\nx\n"),
        ("worse # quiet everywhere\nbad # x\n", "worse # quiet everywhere\ngood\n"),
    ],
)
def test_a_fix_beside_what_was_hidden_before_is_proven(make_bench, before, after, options):
    case = Case(make_bench, before, after, **options)
    if not case.run.items:  # the tool was silent about all of it, and there is nothing to fix
        return
    said = case.recheck()
    assert (said.silent, said.failed, said.unproven) == ((1,), {}, {})


def test_without_a_word_on_how_a_tool_is_silenced_its_silence_about_an_agent_proves_nothing(
    make_bench,
):
    case = Case(make_bench, "bad\n", "good\n", undeclared=frozenset({"words"}))
    said = case.recheck()
    assert (said.passed, said.silent) == ((1,), ())
    assert "`unsuppressed`" in said.unproven["words"]


def test_a_tool_that_fails_with_its_suppressions_off_proves_nothing(make_bench):
    broken = {"unsuppressed": {"words": Hushed(bare=True, broken="no such option --all")}}
    said = Case(make_bench, "bad\n", "good\n", **broken).recheck()
    assert (said.passed, said.silent) == ((1,), ())
    assert "no such option --all" in said.unproven["words"]


def test_the_tool_is_not_asked_about_the_tip_where_nothing_is_hidden(make_bench):
    bare = Hushed(bare=True, **WORDS)
    said = Case(make_bench, "bad\n", "good\n", unsuppressed={"words": bare}).recheck()
    assert (said.silent, bare.looks) == ((1,), 1)


@pytest.mark.parametrize(
    ("path", "before", "after", "stripped"),
    [
        ("a.py", "x = 1\n", "x = '# no'  # yes\n", "x = '# no'\n"),
        ("a.py", "x = 1  # kept\n", "x = 2  # kept\n", "x = 2  # kept\n"),
        ("a.py", "x\n", "# one\nx\n# two\n", "\nx\n\n"),
        ("a.py", "x\n", "#!/usr/bin/python\nx  # type: int\n", "#!/usr/bin/python\nx  # type: int\n"),
        ("a.py", "x\n", "x  # type: ignore[x]\n", "x\n"),
        ("a.ts", "x\n", "x('http://y') // no\n", "x('http://y')\n"),
        ("a.ts", "x\n", "/* a\n b */ x\n", "\n x\n"),
        ("Dockerfile", "FROM x\n", "# hadolint ignore=DL3006\nFROM x\n", "\nFROM x\n"),
        ("run.sh", "ls $x\n", "ls ${#x} # y\n", "ls ${#x}\n"),
        ("run", "#!/bin/sh\nls\n", "#!/bin/sh\n# shellcheck disable=SC1\nls\n", "#!/bin/sh\n\nls\n"),
        ("a.sql", "SELECT 1\n", "-- quiet\nSELECT 1\n", "\nSELECT 1\n"),
        ("a.md", "# Title\n", "<!-- quiet -->\n# Title\n", "\n# Title\n"),
    ],
)  # fmt: skip
def test_the_comments_that_a_patch_adds_are_known_in_any_language(path, before, after, stripped):
    assert strip_new_comments(path, before, after) == stripped
    assert stripped.count("\n") == after.count("\n")
