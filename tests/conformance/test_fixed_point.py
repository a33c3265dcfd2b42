"""Fixes that bring each other about: what lands is sound, whichever of them may land."""

import re
import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Struct
from scripted import Bench

from punchlist.model.finding.finding import Finding, Fix, Safety, Splice, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Status
from punchlist.model.ledger import events as ev
from punchlist.ports.analyzer import Analysis


class Rule(Struct, frozen=True):
    """A letter, what should stand there, and a letter that must be in the file for it to hold."""

    letter: str
    better: str
    needs: str = ""
    safety: Safety = Safety.SAFE


class Letters:
    """Reports each letter that a rule is about."""

    confined = True
    name = "letters"

    def __init__(self, *rules: Rule) -> None:
        self.rules = rules
        self.looks = 0
        self.fails = frozenset[int]()

    async def analyze(self, tree, paths):
        self.looks += 1
        if self.looks in self.fails:
            return Analysis(failed="no memory")
        files = [path for path in tree.files() if paths is None or path in paths]
        found = [each for path in files for each in self._read(path, tree.text(path))]
        return Analysis(findings=tuple(found), looked_at=len(files))

    def _read(self, path, text):
        for rule in self.rules:
            for match in re.finditer(rule.letter, text) if rule.needs in text else ():
                line = text.count("\n", 0, match.start()) + 1
                fix = Fix((Splice(path, *match.span(), rule.better),), rule.safety)
                yield Finding(
                    id="", source=self.name, rule=rule.letter, title=f"{rule.letter} at {match.start()}",
                    spot=Spot(path, line), severity=Severity.MINOR, fix=fix,
                )  # fmt: skip


FAR = (Rule("a", "b", safety=Safety.UNSAFE), Rule("c", "d", needs="b"))
"""The fix of one letter brings about findings all over the file."""
NEAR = (Rule("x", "y"), Rule("y", "z"))
"""The fix of one letter brings about a finding in its own text."""


def landed(folder: Path, text: str, rules, *, checked: bool, by: Letters | None = None):
    bench = Bench(folder, {"a.py": text})
    bench.reviewers = {"letters": by or Letters(*rules)}
    bench.checks = bench.checks if checked else ()
    run = bench.run()
    commit = run.landing.tip if run.landing and run.landing.tip else "base"
    events = [entry.event for entry in bench.store.read(run.id)]
    return bench.git.commits[commit]["a.py"], run, events


def test_what_a_fix_brings_about_far_from_it_goes_with_it_in_one_trial(tmp_path):
    text, run, events = landed(tmp_path, "a\n\n\nc\n\nx\n\ncc\n", (*FAR, *NEAR), checked=True)
    assert text == "b\n\n\nd\n\nz\n\ndd\n"
    assert {item.status for item in run.items.values()} == {Status.FIXED}
    assert len(run.items) == 2, "the others were fixed before anybody saw them"
    assert len([each for each in events if isinstance(each, ev.Tried)]) == 1


def test_what_needs_a_fix_that_may_not_land_does_not_land_with_another_beside_it(tmp_path):
    text, _, _ = landed(tmp_path, "a\n\nxc\n\ncx\n", (*FAR, *NEAR), checked=False)
    assert text == "a\n\nzc\n\ncz\n"


def test_of_many_fixes_in_one_file_the_cause_is_found_in_few_looks(tmp_path):
    many = "x\n" * 40
    letters = Letters(*FAR, *NEAR)
    text, run, _ = landed(tmp_path, f"{many}a\nc\n{many}", letters.rules, checked=True, by=letters)
    assert text == "z\n" * 40 + "b\nd\n" + "z\n" * 40
    assert {item.status for item in run.items.values()} == {Status.FIXED}
    assert letters.looks <= 3 * 2 * 7 + 8, (
        "81 fixes: seven digits, two looks for each, in each pass"
    )


@given(st.text("acx \n", min_size=1, max_size=16), st.booleans())
def test_no_letter_stands_where_what_it_needs_did_not_land(text, checked):
    with tempfile.TemporaryDirectory() as folder:
        after, _, _ = landed(Path(folder), text, (*FAR, *NEAR), checked=checked)
    assert "d" not in after or "b" in after
    assert not {"x", "y"} & {*after}
    assert checked is ("a" not in after) or "a" not in text


@given(st.text("acx", min_size=1, max_size=8), st.frozensets(st.integers(2, 12)))
@example("cxaa", frozenset({6, 8}))
def test_a_look_that_fails_tells_no_cause(text, fails):
    letters = Letters(*FAR, *NEAR)
    letters.fails = fails
    with tempfile.TemporaryDirectory() as folder:
        after, _, _ = landed(Path(folder), text, letters.rules, checked=False, by=letters)
    assert "d" not in after or "b" in after
