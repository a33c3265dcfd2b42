"""What a set of fixes brings about is held against the fix that causes it, and against no other."""

import re

import pytest
from msgspec.structs import replace
from scripted import MAJOR, MINOR, Words

from punchlist.model.finding.finding import Finding, Fix, Safety, Splice, Spot
from punchlist.model.item.item import Fact, Status


class Imports(Words):
    """Minds words outside of imports, and imports of what is not used; `cure` is how safe it is to remove one."""

    def __init__(self, cure=None, **words) -> None:
        super().__init__(**words)
        self.cure = cure

    def _in(self, tree, path):
        text = tree.text(path)
        lines = text.split("\n")
        for found in super()._in(tree, path):
            if not lines[found.spot.line - 1].startswith("import"):
                yield found
        for match in re.finditer(r"^import (\w+)\n", text, re.MULTILINE):
            if len(re.findall(rf"\b{match[1]}\b", text)) == 1:
                fix = self.cure and Fix((Splice(path, *match.span(), ""),), self.cure)
                yield self.finding(f"`{match[1]}` imported but unused", "unused", path, fix)

    def finding(self, title, rule, path, fix=None):
        spot = Spot(path, 1)
        return Finding(
            id="", source=self.name, rule=rule, title=title, spot=spot, severity=MINOR, fix=fix
        )


class Reading(Imports):
    """Reports, in the first line, that a file has one of these words: nothing there says which edit did it."""

    def __init__(self, *odd, **words) -> None:
        super().__init__(**words)
        self.odd = odd

    def _in(self, tree, path):
        yield from super()._in(tree, path)
        if any(word in tree.text(path) for word in self.odd):
            yield self.finding("this is worse than before", "worse", path)


TEXT = (
    "import Dict\nimport List\n"
    + "".join(f"a{n} Dict\n" for n in range(5))
    + "".join(f"spare{n} spare\n" for n in range(20))
    + "".join(f"b{n} List\n" for n in range(3))
)
WORDS = {"Dict": (MINOR, "dict"), "List": (MINOR, "list"), "spare": (MINOR, "used")}


def refused(run) -> dict[str, list[str]]:
    """The reasons of refusals, by rule."""
    found: dict[str, list[str]] = {}
    for item in run.items.values():
        for attempt in item.attempts:
            if attempt.fact is Fact.REJECTED:
                found.setdefault(item.lead.rule, []).append(attempt.why)
    return found


@pytest.mark.parametrize("cure", [None, Safety.DISPLAY], ids=["no fix", "only a suggestion"])
def test_of_fixes_that_leave_an_import_unused_together_one_is_refused_and_all_others_land(
    make_bench, cure
):
    run = make_bench({"a.py": TEXT, "b.py": "spare\n"}, Imports(cure, **WORDS)).run()
    said = {
        name: [f"brings about unused: `{name}` imported but unused (a.py:1)"]
        for name in ("Dict", "List")
    }
    assert refused(run) == said
    assert len(run.find_items(Status.FIXED)) == len(run.items) - 2


def test_an_import_that_becomes_unused_and_can_be_removed_is_removed_with_what_caused_it(
    make_bench,
):
    bench = make_bench({"a.py": TEXT}, Imports(Safety.SAFE, **WORDS))
    run = bench.run()
    assert refused(run) == {}
    assert not run.find_items(Status.OPEN, Status.FILED)
    assert "import" not in bench.git.commits[run.landing.tip]["a.py"]


@pytest.mark.parametrize("odd", [("w13",), ("w3", "w21"), ("w0", "w39")])
def test_the_cause_is_found_where_no_word_and_no_place_tells_it(make_bench, odd):
    words = {f"word{n}": (MINOR, f"w{n} ") for n in range(40)}
    text = "".join(f"word{n}\n" for n in range(40))
    reader = Reading(*(f"{word} " for word in odd), **words)
    run = make_bench({"a.py": f"first\n{text}"}, reader).run()
    assert sorted(refused(run)) == sorted(word.replace("w", "word") for word in odd)
    assert len(run.find_items(Status.FIXED)) == 40 - len(odd)
    assert reader.looks < 40


def test_many_findings_in_one_file_take_a_few_looks(make_bench):
    """Each edit brings about one of its own: sixty searches one by one would be sixty looks."""

    class Each(Imports):
        def _in(self, tree, path):
            yield from super()._in(tree, path)
            for number in re.findall(r"\bw(\d+)\b", tree.text(path)):
                if int(number) % 2:
                    yield self.finding(f"number {number} is odd", "odd", path)

    words = {f"word{n}": (MINOR, f"w{n}") for n in range(120)}
    reader = Each(**words)
    text = "".join(f"word{n}\n" for n in range(120))
    run = make_bench({"a.py": f"first\n{text}"}, reader).run()
    assert {int(rule.removeprefix("word")) % 2 for rule in refused(run)} == {1}
    assert len(run.find_items(Status.FIXED)) == 60
    assert reader.looks < 40


def test_thirty_findings_in_the_same_words_are_told_apart_by_their_lines(make_bench):
    class Same(Imports):
        def _in(self, tree, path):
            yield from super()._in(tree, path)
            for number, line in enumerate(tree.text(path).split("\n"), 1):
                if line.startswith("odd"):
                    spot = Spot(path, number)
                    yield replace(self.finding("this is odd", "odd", path), spot=spot)

    words = {f"word{n}": (MINOR, f"odd{n}" if n % 2 else f"even{n}") for n in range(60)}
    reader = Same(**words)
    text = "".join(f"word{n}\n" for n in range(60))
    run = make_bench({"a.py": text}, reader).run()
    assert {int(rule.removeprefix("word")) % 2 for rule in refused(run)} == {1}
    assert len(run.find_items(Status.FIXED)) == 30
    assert reader.looks < 40


def test_what_the_fix_of_another_finding_removes_is_no_reason_to_refuse(make_bench):
    """A longer line that the next round breaks in two: the tool alone would do the same."""

    class Wraps(Imports):
        def _in(self, tree, path):
            yield from super()._in(tree, path)
            text = tree.text(path)
            for match in re.finditer(r"^(\w+), (\w+)$", text, re.MULTILINE):
                if len(match[0]) > 20:
                    yield self.finding(f"{len(match[0])} is too long", "long", path)
                    wrapped = Fix((Splice(path, *match.span(), f"{match[1]},\\\n {match[2]}"),))
                    yield self.finding("not wrapped", "wrap", path, wrapped)

    words = {"short": (MINOR, "s" * 30), "spare": (MINOR, "used")}
    bench = make_bench({"a.py": "first\ntiny, short\nspare\n"}, Wraps(**words))
    run = bench.run()
    assert refused(run) == {}
    assert {item.status for item in run.items.values()} == {Status.FIXED}
    assert "tiny,\\\n sss" in bench.git.commits[run.landing.tip]["a.py"]


def test_other_words_for_what_is_still_there_do_not_name_a_cause(make_bench):
    """Two edits make one line longer; without the one of a letter it is too long all the same."""

    class Long(Imports):
        def _in(self, tree, path):
            yield from super()._in(tree, path)
            for line in tree.text(path).split("\n"):
                if len(line) > 20:
                    yield self.finding(f"{len(line)} is too long", "long", path)

    words = {"tiny": (MINOR, "tiny1"), "short": (MINOR, "s" * 30), "spare": (MINOR, "used")}
    run = make_bench({"a.py": "first\ntiny, short\nspare\n"}, Long(**words)).run()
    assert {item.lead.rule for item in run.find_items(Status.FIXED)} == {"tiny", "spare"}
    assert list(refused(run)) == ["short"]


def test_where_the_analyzer_fails_during_the_search_the_likeliest_are_refused(make_bench):
    class Tired(Imports):
        async def analyze(self, tree, paths):
            said = await super().analyze(tree, paths)
            return replace(said, failed="out of memory") if self.looks == 3 else said

    run = make_bench({"a.py": TEXT}, Tired(**WORDS)).run()
    assert refused(run).keys() <= {"Dict", "List", "spare"}
    left = [item.lead.rule for item in run.find_items(Status.FILED)]
    assert {"Dict", "List"} <= set(left), "one use of each import stays"
    assert "unused" not in {item.lead.rule for item in run.items.values()}


def test_a_more_severe_finding_is_held_against_its_cause_also_in_another_file(make_bench):
    class Across(Imports):
        async def analyze(self, tree, paths):
            said = await super().analyze(tree, paths)
            if "breaks" not in tree.text("b.py") or (paths is not None and "a.py" not in paths):
                return said
            broken = Finding(
                id="", source=self.name, rule="far", title="no such name", spot=Spot("a.py", 1), severity=MAJOR
            )  # fmt: skip
            return type(said)(findings=(*said.findings, broken), looked_at=2)

    files = {"a.py": "first\nspare\n", "b.py": "spare\nkeeps\n"}
    words = {"spare": (MINOR, "used"), "keeps": (MINOR, "breaks")}
    run = make_bench(files, Across(**words)).run()
    assert refused(run) == {"keeps": ["brings about far: no such name (a.py:1)"]}
    assert len(run.find_items(Status.FIXED)) == 2
