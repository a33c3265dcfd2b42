"""The files tracker: one issue an item, however often and from wherever it is filed."""

import asyncio
import threading
from pathlib import Path

import pytest

from punchlist.adapters.trackers.files import INDEX, FilesTracker
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status
from punchlist.views.issue_text import render_issue


def told(number, severity=Severity.MAJOR, status=Status.OPEN, title="Unused import: os"):
    finding = Finding(
        id=f"f{number}",
        source="ruff",
        title=title,
        spot=Spot("src/a.py", number),
        severity=severity,
    )
    return render_issue(
        Item(number=number, fingerprint=f"{number:032x}"[::-1], findings=(finding,), status=status),
        "r1",
    )


def filed(folder, *dossiers):
    return asyncio.run(FilesTracker(folder).file(dossiers))


def issues(folder):
    return sorted(path.name for path in folder.glob("*.md") if path.name != INDEX)


def test_an_item_becomes_a_file_named_by_severity_fingerprint_and_title(tmp_path):
    (filing,) = filed(tmp_path / "issues", told(1))
    assert issues(tmp_path / "issues") == ["major-1000000000000000-unused-import-os.md"]
    assert filing.ref == str(tmp_path / "issues" / "major-1000000000000000-unused-import-os.md")
    text = (tmp_path / "issues" / "major-1000000000000000-unused-import-os.md").read_text()
    assert text.startswith("# [MAJOR] Unused import: os\n\nLabels: tech-debt, major\n")


def test_filing_twice_makes_one_issue_even_with_other_words(tmp_path):
    first = filed(tmp_path, told(1))
    again = filed(tmp_path, told(1, Severity.CRITICAL, title="Now in other words"), told(2))
    assert again[0].ref == first[0].ref
    assert len(issues(tmp_path)) == 2


def test_an_issue_that_a_person_renamed_is_found_again(tmp_path):
    (filing,) = filed(tmp_path, told(1))
    (tmp_path / "mine.md").write_bytes((tmp_path / filing.ref).read_bytes())
    (tmp_path / filing.ref).unlink()
    assert filed(tmp_path, told(1))[0].ref == str(tmp_path / "mine.md")
    assert issues(tmp_path) == ["mine.md"]


def test_a_deleted_issue_is_closed_and_is_filed_again_if_it_comes_back(tmp_path):
    (filing,) = filed(tmp_path, told(1))
    (tmp_path / filing.ref).unlink()
    filed(tmp_path, told(1))
    assert len(issues(tmp_path)) == 1


def test_two_workers_make_one_issue(tmp_path):
    answers = []
    threads = [
        threading.Thread(
            target=lambda n=n: answers.append(filed(tmp_path, told(1, title=f"title {n}")))
        )
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({filing.ref for (filing,) in answers}) == 1
    assert len(issues(tmp_path)) == 1


def test_a_fixed_item_is_never_filed(tmp_path):
    fixed, other = filed(tmp_path, told(1, status=Status.FIXED), told(2))
    assert "fixed" in fixed.failed
    assert not fixed.ref
    assert other.ref
    assert len(issues(tmp_path)) == 1


def test_the_index_lists_the_open_issues_worst_first(tmp_path):
    filed(tmp_path, told(1, Severity.MINOR), told(2, Severity.CRITICAL), told(3))
    rows = [line for line in (tmp_path / INDEX).read_text().splitlines() if line.startswith("- ")]
    assert [row.split("]")[0] for row in rows] == [
        "- [\\[CRITICAL\\",
        "- [\\[MAJOR\\",
        "- [\\[MINOR\\",
    ]
    assert "3 filed" in (tmp_path / INDEX).read_text()


def test_a_folder_that_cannot_be_made_is_told_for_each_item(tmp_path):
    (tmp_path / "file").write_text("")
    filings = filed(tmp_path / "file" / "issues", told(1), told(2))
    assert [filing.item for filing in filings] == [1, 2]
    assert all("cannot be written" in filing.failed for filing in filings)


@pytest.mark.parametrize("title", ["../../etc/passwd", "", "日本語", "a/b\\c\0d", "x" * 500])
def test_titles_never_lead_out_of_the_folder(tmp_path, title):
    (filing,) = filed(tmp_path / "issues", told(1, title=title))
    assert not filing.failed
    assert len(issues(tmp_path / "issues")) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"issues"}


def test_a_dismissed_issue_says_so_leaves_the_list_of_open_ones_and_comes_back_as_it_was(tmp_path):
    first, _ = filed(tmp_path, told(1), told(2, title="Stays open"))
    before = Path(first.ref).read_text()
    tracker, fingerprint = FilesTracker(tmp_path), told(1).item.fingerprint
    assert tracker.close([fingerprint, "unknown"], "ada", "the old name\nis public") == 1
    assert tracker.close([fingerprint], "ada", "still so") == 1
    assert Path(first.ref).read_text() == before.replace(
        "\n\n", "\n\nStatus: dismissed by ada: still so\n\n", 1
    )
    opened, _, closed = (tmp_path / INDEX).read_text().partition("## Dismissed")
    assert "1 filed by punchlist" in opened
    assert "Stays open" in opened
    assert Path(first.ref).name in closed
    assert tracker.reopen([fingerprint]) == 1
    assert Path(first.ref).read_text() == before
    assert "2 filed by punchlist" in (tmp_path / INDEX).read_text()


def test_what_is_filed_again_is_open_again(tmp_path):
    (first,) = filed(tmp_path, told(1))
    before = Path(first.ref).read_text()
    FilesTracker(tmp_path).close([told(1).item.fingerprint], "ada", "no")
    assert filed(tmp_path, told(1))[0].ref == first.ref
    assert Path(first.ref).read_text() == before


def test_where_nothing_was_filed_nothing_is_made(tmp_path):
    assert FilesTracker(tmp_path / "none").close(["x"], "ada", "no") == 0
    assert not (tmp_path / "none").exists()
