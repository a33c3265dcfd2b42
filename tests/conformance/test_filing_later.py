"""A tracker that is down: what could not be filed is kept as "to be filed", said, and filed by the next run."""

import pytest
from scripted import MAJOR, MINOR, Said, Words, finding

from punchlist.adapters.trackers.files import INDEX, FilesTracker
from punchlist.app.start.start import load_debts
from punchlist.errors import ToolError
from punchlist.model.item.item import Status
from punchlist.model.ledger.run_row import RepositoryKey
from punchlist.ports.tracker import Filing
from punchlist.steps import report
from punchlist.views.summary import find_gaps


@pytest.fixture
def bench(make_bench):
    bench = make_bench({"a.py": "odd\nbad\n"}, Words(odd=(MINOR, None), bad=(MAJOR, "good")))
    bench.documents = {"document": Said(finding(1, line=None))}
    return bench


def down(bench) -> FilesTracker:
    """A tracker whose folder cannot be written to, whoever runs the tests."""
    (bench.folder / "file").write_text("")
    return FilesTracker(bench.folder / "file" / "issues")


def issues(bench) -> list[str]:
    return sorted(
        path.name for path in (bench.folder / "issues").glob("*.md") if path.name != INDEX
    )


def test_what_could_not_be_filed_is_listed_and_the_run_is_incomplete(bench):
    bench.tracker = down(bench)
    run = bench.run()
    assert run.ended == "incomplete"
    assert (
        set(run.filing.unfiled)
        == {item.number for item in run.items.values() if item.status is not Status.FIXED}
        == set(run.filing.listed)
    )
    assert [gap.what for gap in find_gaps(run) if gap.about == "filing"] == [
        f"Item {n} could not be filed; the next run tries again" for n in sorted(run.filing.unfiled)
    ]
    assert bench.audit(run.id).ok
    assert [debt.name for debt in load_debts(bench.store, RepositoryKey("memory"))] == [
        f"{run.id}/{n}" for n in sorted(run.filing.unfiled)
    ]


def test_the_next_run_files_it_once_even_if_it_finds_only_some_of_it_again(bench):
    tracker, bench.tracker = bench.tracker, down(bench)
    first = bench.run()
    bench.tracker, bench.documents = tracker, {}
    second = bench.run(owed=load_debts(bench.store, RepositoryKey("memory")))
    assert len(first.filing.unfiled) == 2
    assert len(issues(bench)) == 2, (
        "one for what the analyzer sees again, one for what only the document knew"
    )
    assert load_debts(bench.store, RepositoryKey("memory")) == ()
    assert second.ended == "leftovers"
    text = "".join((bench.folder / "issues" / name).read_text() for name in issues(bench))
    assert f"run `{first.id}`" in text, "an old item is filed under its own run"


def test_a_tracker_that_stays_down_keeps_the_debt_and_says_so(bench):
    tracker, bench.tracker = bench.tracker, down(bench)
    first = bench.run()
    bench.reviewers["words"].words, bench.documents = {}, {}
    second = bench.run(owed=load_debts(bench.store, RepositoryKey("memory")))
    assert second.ended == "incomplete", "it found nothing, and could not do what was owed"
    assert set(second.filing.owed) == {f"{first.id}/{n}" for n in first.filing.unfiled}
    assert any("of an earlier run could not be filed" in gap.what for gap in find_gaps(second))
    bench.tracker = tracker
    third = bench.run(owed=load_debts(bench.store, RepositoryKey("memory")))
    assert (third.ended, load_debts(bench.store, RepositoryKey("memory"))) == ("clean", ())
    assert len(issues(bench)) == len(first.filing.unfiled)


def test_a_debt_that_the_next_run_fixes_itself_becomes_no_issue(bench):
    tracker, bench.tracker = bench.tracker, down(bench)
    bench.run()
    bench.tracker, bench.documents = tracker, {}
    bench.reviewers["words"].words["odd"] = (MINOR, "even")
    run = bench.run(owed=load_debts(bench.store, RepositoryKey("memory")))
    assert {item.status for item in run.items.values()} == {Status.FIXED}
    assert len(issues(bench)) == 1, "only the document's"
    assert load_debts(bench.store, RepositoryKey("memory")) == ()


def test_a_run_that_files_nothing_leaves_the_debts_to_the_one_after(bench):
    bench.tracker = down(bench)
    bench.run()
    owed = load_debts(bench.store, RepositoryKey("memory"))
    run = bench.run("steps: [review, consolidate, {report: {file: none}}]", owed=owed)
    assert run.filing.owed == {}
    assert [debt.name for debt in load_debts(bench.store, RepositoryKey("memory"))] == [
        debt.name for debt in owed
    ]


def test_debts_are_of_one_repository(bench):
    bench.tracker = down(bench)
    bench.run()
    assert load_debts(bench.store, RepositoryKey("elsewhere")) == ()


class Moody:
    """Refuses some, forgets one, and raises for a whole chunk."""

    name = "moody"

    def __init__(self, *, raises=()) -> None:
        self.raises = raises
        self.calls = 0

    async def file(self, dossiers):
        self.calls += 1
        if self.calls in self.raises:
            raise ToolError("502 from the tracker")
        return [
            Filing(item=each.item.number, ref="#1")
            for each in dossiers
            if each.item.lead.title != "`thing3` is wrong"
        ]


def test_one_refusal_does_not_keep_the_others_from_being_filed(make_bench):
    bench = make_bench({"a.py": ""})
    bench.documents = {"document": Said(*(finding(n, line=n * 20) for n in range(1, 6)))}
    bench.tracker = Moody()
    run = bench.run()
    assert run.filing.unfiled == {3: "the tracker did not answer for it"}
    assert len(run.find_items(Status.FILED)) == 4
    assert run.ended == "incomplete"
    assert bench.audit(run.id).ok


def test_a_call_that_fails_does_not_keep_the_next_one_from_being_made(make_bench, monkeypatch):
    monkeypatch.setattr(report, "CHUNK", 2)
    bench = make_bench({"a.py": ""})
    bench.documents = {"document": Said(*(finding(n, line=n * 20) for n in (1, 2, 4, 5, 6)))}
    bench.tracker = Moody(raises=(1,))
    run = bench.run()
    assert len(run.find_items(Status.FILED)) == 3
    assert run.filing.unfiled == {1: "502 from the tracker", 2: "502 from the tracker"}
    assert [debt.item.number for debt in load_debts(bench.store, RepositoryKey("memory"))] == [1, 2]
    assert run.ended == "incomplete"
    assert bench.audit(run.id).ok
