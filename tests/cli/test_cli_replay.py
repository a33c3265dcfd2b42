"""punchlist replay: the recorded run again, offline, and under other rules."""

import json
import shutil

import pytest


@pytest.fixture
def moved(done, make_punchlist, tmp_path):
    """A copy of the state of a run, to be spoiled."""
    shutil.copytree(done.home, tmp_path / "state")
    punchlist = make_punchlist(done.folder)
    punchlist.env = {**done.env, "PUNCHLIST_HOME": str(punchlist.home)}
    return punchlist


def test_a_run_comes_to_the_same_byte_for_byte(done):
    told = done("replay")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "folded again: the same, byte for byte" in told.stdout
    assert "same     report.json" in told.stdout
    document = done.json("replay")
    assert {each["likeness"] for each in document["files"]} == {"same"}
    assert (document["same"], document["whole"], len(document["state"])) == (True, True, 64)
    assert done.json("replay")["state"] == document["state"]


def test_other_rules_are_tried_on_without_starting_anything(done):
    told = done("replay", "last", "--with", "floor=critical", "--with", "attempts=0")
    assert told.returncode == 0, told.stderr
    assert "would have gone differently" in told.stdout
    document = json.loads(done("replay", "--with", "floor=critical", "--json").stdout)
    assert {each["fate"] for each in document["differences"]} == {"is not worked on"}
    assert "every item ends as it did" in done("replay", "--with", "threshold=95").stdout


def test_a_file_that_was_changed_or_removed_is_told_by_the_exit_code(moved):
    assert moved("replay").returncode == 0
    (report,) = moved.home.glob("runs/*/report.md")
    report.write_bytes(report.read_bytes() + b"all is well\n")
    told = moved("replay")
    assert told.returncode == 7
    assert "NOT the same" in told.stdout
    assert "differs  report.md  from byte" in told.stdout
    report.unlink()
    gone = moved("replay")
    assert gone.returncode == 3
    assert "the same, as far as it is there" in gone.stdout


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("treshold=95", 'no such rule; did you mean "threshold"?'),
        ("threshold=101", "must be a whole number, from 0 to 100"),
        ("attempts=many", "must be a whole number, 0 or more"),
        ("floor=worst", '"worst" is no severity'),
        ("threshold", "--with threshold: must be RULE=VALUE"),
    ],
)
def test_a_rule_that_is_none_is_refused_with_a_hint(done, rule, said):
    told = done("replay", "--with", rule)
    assert told.returncode == 2
    assert said in told.stderr
    assert "hint:" in told.stderr
