"""A second look of the analyzers, held against the first by exact place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from made import made_run
from punchlist.model.finding.finding import Context, Finding, Fix, Splice, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.integrity.recheck_diff import RecheckDiff
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Item, Move
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import FileChange, Patch, apply_splices

TEXT = "import b\nimport a\nx = f'{1}'\ny = 2\nz = 3\n"
FIXABLE = Fix((Splice("m.py", 0, 0, ""),))


def report(rule, line, title="", severity=Severity.MINOR, fix=FIXABLE, path="m.py", names=()):
    said = title or rule
    return Finding(
        id=f"{rule}:{line}",
        source="ruff",
        rule=rule,
        title=said,
        spot=Spot(path, line, line, 1),
        severity=severity,
        fix=fix,
        context=Context(names=names),
    )


def told(run: Run, event: ev.Event) -> Run:
    return fold(run, ev.Entry(run="r", seq=run.seq + 1, at=0, place="1", key="k", event=event))


def run_of(*findings: Finding) -> Run:
    items = tuple(
        Item(number=n, fingerprint=str(n), findings=(finding,))
        for n, finding in enumerate(findings, 1)
    )
    return told(made_run(id="r"), ev.Consolidated(items=items))


def batch(number, *splices, items=None):
    return Batch(
        number=number,
        items=items or (number,),
        fixer="edits",
        title="t",
        paths=("m.py",),
        patch=Patch(splices=splices),
    )


SORTED = Splice("m.py", 0, 18, "import a\nimport b\n")


def look(run, batches, after, text=TEXT, patches=None) -> RecheckDiff:
    """The patches are those that the batches were planned with, unless the fixer made others."""
    made = patches or {batch.number: batch.patch for batch in batches}
    run = told(
        told(run, ev.Planned(batches=tuple(batches))), ev.Attempted(fixer="edits", patches=made)
    )
    return RecheckDiff(run, batches, {"m.py": text, "n.py": "n\n"}, after)


def test_what_the_fixer_put_off_may_still_be_reported_and_what_it_claims_may_not():
    items = [report("S105", 4), report("S608", 5)]
    put_off, claimed = (
        Move(1, Fact.SAID_DEFERRED, by="robot", why="tried"),
        Move(2, Fact.SAID_FIXED, by="robot", why="done"),
    )
    fix = Splice("m.py", TEXT.index("z"), TEXT.index("z") + 1, "zz")
    run = told(run_of(*items), ev.Attempted(fixer="agent", moves=(put_off, claimed)))
    assert look(run, [batch(1, fix, items=(1, 2))], [items[0]]).find_guilty(wide=False) == {}
    assert look(run, [batch(1, fix, items=(1, 2))], items).find_guilty(wide=False) == {
        1: "ruff still reports it"
    }


def test_a_finding_that_is_gone_is_silenced():
    seen = look(run_of(report("I001", 1)), [batch(1, SORTED)], [])
    assert seen.find_guilty(wide=False) == {}


def test_a_finding_that_is_still_there_is_not():
    seen = look(run_of(report("I001", 1)), [batch(1, SORTED)], [report("I001", 1)])
    assert seen.find_guilty(wide=False) == {1: "ruff still reports it"}


def test_what_was_there_before_is_nobodys_fault_also_where_lines_moved():
    run = run_of(report("I001", 1), report("E501", 5))
    shorter = Splice("m.py", 0, 18, "import a, b\n")
    assert look(run, [batch(1, shorter)], [report("E501", 4)]).find_guilty(wide=False) == {}


def test_a_finding_carried_along_inside_rewritten_text_is_no_news():
    run = run_of(report("I001", 1), report("F403", 1, "star", fix=None))
    assert (
        look(run, [batch(1, SORTED)], [report("F403", 2, "star", fix=None)]).find_guilty(wide=False)
        == {}
    )


def test_something_worse_where_a_batch_wrote_is_its_fault():
    run = run_of(report("I001", 1), report("UP032", 3))
    batches = [batch(1, SORTED), batch(2, Splice("m.py", 18, 28, "x = name"))]
    seen = look(run, batches, [report("F821", 3, "Undefined name `name`", Severity.CRITICAL)])
    assert seen.find_guilty(wide=False) == {2: "brings about F821: Undefined name `name` (m.py:3)"}


def test_something_worse_at_a_distance_is_the_fault_of_who_touched_its_name():
    run = run_of(report("I001", 1), report("UP032", 3))
    batches = [batch(1, Splice("m.py", 9, 18, "")), batch(2, Splice("m.py", 22, 28, "1"))]
    seen = look(
        run, batches, [report("F821", 3, "Undefined name `a`", Severity.CRITICAL, names=("a",))]
    )
    assert set(seen.find_guilty(wide=False)) == {1}


def test_a_lesser_finding_with_a_fix_of_its_own_is_follow_up_work():
    run = run_of(report("UP031", 3))
    seen = look(run, [batch(1, Splice("m.py", 18, 28, "x = '{}'.format(1)"))], [report("UP032", 3)])
    assert seen.find_guilty(wide=False) == {}
    assert seen.follow_ups() == {1: ("UP032",)}


def test_an_equal_finding_without_a_fix_is_louder():
    run = run_of(report("UP031", 3))
    seen = look(run, [batch(1, Splice("m.py", 18, 28, "x = long"))], [report("E501", 3, fix=None)])
    assert set(seen.find_guilty(wide=False)) == {1}


def test_at_the_last_turn_everything_in_the_file_goes():
    run = run_of(report("I001", 1), report("UP032", 3))
    batches = [batch(1, SORTED), batch(2, Splice("m.py", 22, 28, "1"))]
    seen = look(run, batches, [report("F821", 5, "Undefined name `q`", Severity.CRITICAL)])
    assert set(seen.find_guilty(wide=True)) == {1, 2}


@pytest.mark.parametrize("odd", ["\f", "\v", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_a_character_that_ends_no_line_for_the_tools_moves_none(odd):
    text = f"x = 1{odd}\n{odd}\ny = 2\nimport os\nz = eval(y)\n"
    at = text.index("import os")
    run = run_of(report("F401", 4), report("S307", 5, fix=None))
    seen = look(
        run, [batch(1, Splice("m.py", at, at + 10, ""))], [report("S307", 4, fix=None)], text
    )
    assert seen.find_guilty(wide=False) == {}


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    ("end", "line"), [("\r", 5), ("\r\n", 5), ("\n", 5), ("\n", 6), ("", 5), ("", 6)]
)
def test_places_at_the_end_of_a_file_are_found_again(mark, end, line):
    text = mark + (end or "\n").join(["import os", "b", "c", "d", "e"]) + end
    first = Splice("m.py", len(mark), text.index("b"), "")
    run = run_of(report("F401", 1), report("W292", line, fix=None))
    assert (
        look(run, [batch(1, first)], [report("W292", line - 1, fix=None)], text).find_guilty(
            wide=False
        )
        == {}
    )


def test_the_place_after_the_last_character_is_on_the_last_line():
    run = run_of(report("F401", 1), report("W292", 2, fix=None))
    again = structs.replace(report("W292", 1, fix=None), spot=Spot("m.py", 1, None, 2))
    assert (
        look(run, [batch(1, Splice("m.py", 0, 10, ""))], [again], "import os\ne").find_guilty(
            wide=False
        )
        == {}
    )


def planned_otherwise(*patches: Patch) -> tuple[list[Batch], dict[int, Patch]]:
    """Batches whose fixers did what they liked: the plan said something about another file."""
    plan = Patch(splices=(Splice("n.py", 0, 1, "other"),))
    made = dict(enumerate(patches, 1))
    return [
        Batch(number=n, items=(n,), fixer="agent", title="t", paths=plan.paths, patch=plan)
        for n in made
    ], made


@pytest.mark.parametrize(
    "removal",
    [
        Patch(splices=(Splice("m.py", 9, 18, ""),)),
        Patch(files=(FileChange("m.py", TEXT.replace("import a\n", "")),)),
    ],
    ids=["as a splice", "as a file"],
)
def test_what_counts_is_what_the_fixer_did_and_not_what_was_planned(removal):
    run = run_of(report("F401", 2), report("UP032", 3), report("E501", 5, fix=None))
    batches, patches = planned_otherwise(removal, Patch(splices=(Splice("n.py", 0, 1, "x"),)))
    moved = report("E501", 4, fix=None)
    undefined = report("F821", 3, "Undefined name `a`", Severity.CRITICAL, names=("a",))
    assert look(run, batches, [moved], patches=patches).find_guilty(wide=False) == {}
    assert set(look(run, batches, [moved, undefined], patches=patches).find_guilty(wide=False)) == {
        1
    }
    assert set(look(run, batches, [moved, undefined], patches=patches).find_guilty(wide=True)) == {
        1
    }


def test_a_file_written_anew_is_its_writer_s_as_far_as_it_differs():
    run = run_of(report("F401", 2), report("UP032", 3))
    anew = Patch(
        files=(
            FileChange("m.py", TEXT.replace("x = f'{1}'", "x = naïve".encode().decode("latin-1"))),
        )
    )
    batches, patches = planned_otherwise(Patch(splices=(Splice("n.py", 0, 1, "m"),)), anew)
    worse = report("F821", 3, "Undefined name `naïve`", Severity.CRITICAL)
    assert set(look(run, batches, [worse], patches=patches).find_guilty(wide=False)) == {2}


@given(st.text("ab\r\né", max_size=12), st.text("ab\r\né", max_size=12))
def test_a_file_as_a_whole_is_one_edit_or_none(before, after):
    edits = Patch(files=(FileChange("m.py", after.encode().decode("latin-1")),)).file_splices(
        "m.py", before
    )
    assert apply_splices(before, edits) == after
    assert len(edits) == (before != after)
