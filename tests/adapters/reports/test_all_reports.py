"""What holds for every format: nothing is left out, nothing is claimed that was not seen, the same run gives the same bytes."""

import html
import subprocess
import sys

import msgspec
import pytest

from made import made_run
from punchlist.adapters.reports import REPORTS
from punchlist.model.item.item import Status
from punchlist.model.ledger.run import Run
from punchlist.views.summary import summarize_run


def shown(name: str, run: Run) -> str:
    """The report as a person or program reads it."""
    text = REPORTS[name](run).decode("utf-8")
    if name.endswith(("html", "xml")):
        return html.unescape(text).replace("<code>", "`").replace("</code>", "`")
    return (
        msgspec.json.format(text, indent=0).replace('\\"', '"')
        if name.endswith(("json", "sarif"))
        else text
    )


def test_there_are_five_of_them():
    assert list(REPORTS) == [
        "report.md",
        "report.json",
        "report.sarif",
        "report.junit.xml",
        "report.html",
    ]


@pytest.mark.parametrize("name", REPORTS)
def test_every_item_appears(name, run):
    text = shown(name, run)
    assert [item.number for item in run.items.values() if item.lead.title not in text] == []
    assert [item.number for item in run.items.values() if item.lead.spot.path not in text] == []


@pytest.mark.parametrize("name", ["report.md", "report.json", "report.html", "report.junit.xml"])
def test_a_fixed_item_shows_its_proof_and_its_commit(name, run):
    text = shown(name, run)
    fixed = run.find_items(Status.FIXED)
    assert fixed
    for item in fixed:
        assert item.commit[:12] in text
        assert all(proof.said in text for proof in item.proofs)


@pytest.mark.parametrize("name", ["report.md", "report.json", "report.html", "report.junit.xml"])
def test_what_was_merged_filed_refused_or_went_wrong_is_said(name, run):
    text = shown(name, run)
    for word in (
        "bandit",
        ".punchlist/issues/0001.md",
        "the disk is full",
        "breaks tests/test_orders.py::test_a_big_order_is_big",
        "timed out after 30 s",
        "exits 2 on the base",
        "has no title and no description",
        "3 files with uncommitted changes were left out",
    ):
        assert word in text, word


@pytest.mark.parametrize("name", ["report.md", "report.json", "report.html", "report.junit.xml"])
def test_fixes_that_no_check_judged_are_called_unverified(name, unverified):
    assert unverified.find_items(Status.FIXED)
    assert "no checks are configured or were found" in shown(name, unverified)


@pytest.mark.parametrize("name", ["report.md", "report.json", "report.html"])
def test_the_word_unverified_is_there_only_when_it_is_so(name, run, unverified):
    assert "unverified" in shown(name, unverified).lower()
    assert "are unverified" not in shown(name, run).lower()


@pytest.mark.parametrize("name", REPORTS)
def test_a_run_that_has_hardly_begun_can_be_told(name):
    assert REPORTS[name](made_run(id="r-empty"))


@pytest.mark.process
@pytest.mark.parametrize("name", REPORTS)
def test_the_same_run_gives_the_same_bytes_in_another_process(name):
    code = f"import sys; from punchlist.adapters.reports import REPORTS; from sample_run import sample; sys.stdout.buffer.write(REPORTS[{name!r}](sample()))"
    path = [entry for entry in sys.path if entry]
    once, again = (
        subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}; {code}"],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    )
    assert once == again != b""


def test_every_reported_finding_is_accounted_for(run, unverified, nasty):
    for each in (run, unverified, nasty):
        numbers = summarize_run(each).numbers
        assert numbers.reported == numbers.items + numbers.merged + numbers.again + numbers.pending
        assert numbers.in_scope == numbers.fixed + numbers.filed + numbers.dismissed + numbers.left


def test_a_run_without_a_look_is_never_told_as_clean():
    told = summarize_run(made_run(id="r-empty", ended="incomplete"))
    assert told.outcome == "incomplete"
    assert "does not mean clean" in told.headline


def test_a_run_that_has_just_begun_is_not_told_as_one_that_found_nothing():
    told = summarize_run(made_run(id="r-young"))
    assert (told.outcome, told.headline) == ("incomplete", "Nothing was looked at yet.")


def test_the_advice_names_the_command_that_brings_the_commits_home(run):
    assert f"`punchlist apply {run.id}`" in summarize_run(run).advice


REGISTERED = """
from punchlist.adapters.reports import REPORTS, ReportFormat
REPORTS["report.txt"] = ReportFormat("txt", "report.txt", "text/x-own", "Own", lambda run: b"own")

from punchlist.app.after.reports import content_type
from punchlist.cli.commands.report import command
from punchlist.mcp.resources import list_templates
from punchlist.web.pages.rendering import load_environment

(choice,) = (each.type for each in command.params if each.name == "form")
assert "txt" in choice.choices
assert content_type("a/report.txt") == "text/x-own"
assert ("text/x-own", "punchlist://runs/{run}/report.txt") in [(t.mime_type, t.uri_template) for t in list_templates()]
assert "Own" in [report.title for report in load_environment().globals["reports"]]
"""


@pytest.mark.process
def test_an_entry_in_the_table_is_enough_for_every_surface():
    subprocess.run([sys.executable, "-c", REGISTERED], check=True)
