"""Linters, formatters and doctests that are green on the base stay green, and prove nothing."""

import pytest
from msgspec.structs import replace
from scripted import CHECK, MAJOR, MINOR, Judge, Words

from punchlist.model.checks.check import Check, CheckKind, CheckResult
from punchlist.model.checks.check import TestOutcome as Outcome
from punchlist.model.item.item import Status
from punchlist.model.item.proof import ProofClass
from punchlist.views.summary import find_gaps

GATE = Check(name="style", command=("style",), kind=CheckKind.GATE)
EXAMPLES = Check(name="doctest", command=("doctest",), kind=CheckKind.DOCTEST)
REPAIR = ("style", "--write")
CODE = "x = bad\ny = poor\n"


class Gates(Judge):
    """A judge with gates: `red` says by check which files, or doctests, are red in a tree."""

    def __init__(self, neat=str, **red) -> None:
        super().__init__()
        self.neat = neat
        self.red = red

    async def run(self, check, tree, *, only=()):
        if not check.is_gate:
            return await super().run(check, tree, only=only)
        self.runs.append(check.name)
        if check.command == REPAIR:
            tree.texts.update({path: self.neat(text) for path, text in tree.texts.items()})
        red = set(self.red[check.name](tree.texts))
        every = {f"{path}::example" for path in tree.texts} if check is EXAMPLES else red
        wanted = [test for test in every if not only or test in only]
        tests = {test: Outcome.FAILED if test in red else Outcome.PASSED for test in wanted}
        code = int(Outcome.FAILED in tests.values())
        said = "".join(f"{path}: is ugly\n" for path in sorted(red))
        return CheckResult(check=check.name, exit_code=code, seconds=0, tests=tests, output=said)


class Pointing(Gates):
    """Gates that name the lines, as linters do."""

    async def run(self, check, tree, *, only=()):
        result = await super().run(check, tree, only=only)
        lines = [
            f"{path}:{number}:1: is ugly\n"
            for path, text in tree.texts.items()
            for number, line in enumerate(text.splitlines(), 1)
            if "rich" in line
        ]
        return replace(result, output="".join(lines)) if check.is_gate else result


@pytest.fixture
def bench(make_bench):
    def make(files, *gates, **red):
        words = Words(bad=(MAJOR, "good"), poor=(MINOR, "rich"))
        bench = make_bench(files, words)
        bench.judge = Gates(**red)
        bench.checks = (CHECK, *gates)
        return bench

    return make


def find_rich(texts):
    return [path for path, text in texts.items() if "rich" in text]


def statuses(run) -> dict[tuple[str, int], Status]:
    return {(i.lead.spot.path, i.lead.spot.line): i.status for i in run.items.values()}


def test_fixes_that_turn_a_gate_red_do_not_land_and_all_others_do(bench):
    files = {f"{name}.py": CODE * 3 for name in "abc"}
    bench = bench(files, GATE, style=find_rich)
    run = bench.run()
    for (path, line), status in statuses(run).items():
        assert status is (Status.FILED if line % 2 == 0 else Status.FIXED), (path, line)
    refused = next(item for item in run.items.values() if item.status is Status.FILED)
    assert refused.attempts[-2].why == f"turns style red: {refused.lead.spot.path}: is ugly"
    assert bench.judge.runs.count("style") < 20, "files are searched side by side"


def test_a_gate_is_no_proof_and_a_red_one_is_none_and_that_is_said(bench):
    bench = bench({"a.py": CODE}, GATE, EXAMPLES, style=lambda _: ["a.py"], doctest=lambda _: [])
    run = bench.run()
    kinds = {proof.said.partition(":")[0] for i in run.items.values() for proof in i.proofs}
    assert kinds == {"no longer reported by words", "tests"}
    gaps = [(gap.what, gap.why) for gap in find_gaps(run)]
    assert ("style was not kept green", "it is red on the base: a.py: is ugly") in gaps
    bench.checks, bench.judge = (EXAMPLES,), Gates(doctest=lambda _: [])
    bench.git.commits["base"] = {"a.py": "z = bad\n"}
    (item,) = bench.run().items.values()
    assert [proof.kind for proof in item.proofs] == [ProofClass.RECHECKED]


def test_a_red_file_that_no_fix_touches_is_held_against_its_cause(bench):
    run = bench(
        {"a.py": CODE, "b.py": "z = bad\n", "c.py": "import a\n"},
        GATE,
        style=lambda texts: ["c.py"] if "rich" in texts["a.py"] else [],
    ).run()
    assert statuses(run) == {
        ("a.py", 1): Status.FIXED,
        ("a.py", 2): Status.FILED,
        ("b.py", 1): Status.FIXED,
    }


def test_a_doctest_that_a_fix_breaks_counts_and_one_that_was_red_does_not(bench):
    bench = bench(
        {"a.py": CODE, "b.py": CODE},
        EXAMPLES,
        doctest=lambda texts: [
            "b.py::example",
            *(f"{path}::example" for path in find_rich({"a.py": texts["a.py"]})),
        ],
    )
    assert statuses(bench.run()) == {
        ("a.py", 1): Status.FIXED,
        ("a.py", 2): Status.FILED,
        ("b.py", 1): Status.FIXED,
        ("b.py", 2): Status.FIXED,
    }


def test_what_is_red_only_once_is_held_against_no_fix(bench):
    looks = iter([[], ["a.py"], [], []])
    run = bench({"a.py": CODE}, GATE, style=lambda _: next(looks, [])).run()
    assert set(statuses(run).values()) == {Status.FIXED}


def test_what_a_formatter_can_format_lands_formatted(bench):
    gate = replace(GATE, repair=REPAIR)
    bench = bench(
        {"a.py": "x = poor ;\ny = bad ;\nz = poor ;\n", "b.py": "w = bad ;\n"},
        gate,
        style=lambda texts: [path for path, text in texts.items() if "rich ;" in text],
        neat=lambda text: text.replace("rich ;", "rich;"),
    )
    run = bench.run()
    assert set(statuses(run).values()) == {Status.FIXED}
    assert bench.git.commits[run.landing.tip] == {
        "a.py": "x = rich;\ny = good ;\nz = rich;\n",
        "b.py": "w = good ;\n",
    }
    first = next(item for item in run.items.values() if item.lead.rule == "poor")
    assert run.by_item.diffs[first.number].hunks[0].lines[:2] == ("-x = poor ;", "+x = rich;")
    assert bench.audit(run.id).ok


def test_a_formatter_that_does_not_help_lets_the_culprits_be_found(bench):
    gate = replace(GATE, repair=REPAIR)
    bench = bench({"a.py": CODE}, gate, style=find_rich, neat=lambda text: text.replace(" ", ""))
    assert statuses(bench.run()) == {("a.py", 1): Status.FIXED, ("a.py", 2): Status.FILED}


def test_what_a_fix_brings_about_and_a_gate_minds_is_fixed_with_it(make_bench):
    words = Words(bad=(MAJOR, "good\nz = idle"), idle=(MINOR, "busy"), poor=(MINOR, "rich"))
    bench = make_bench({"a.py": CODE, "b.py": CODE}, words)
    bench.judge = Gates(style=lambda texts: [p for p, text in texts.items() if "idle" in text])
    bench.checks = (CHECK, GATE)
    run = bench.run()
    assert set(statuses(run).values()) == {Status.FIXED}
    fixed = "x = good\nz = busy\ny = rich\n"
    assert bench.git.commits[run.landing.tip] == {"a.py": fixed, "b.py": fixed}
    assert len(run.items) == 4


@pytest.mark.parametrize(("judge", "most"), [(Pointing, 6), (Gates, 20)])
def test_of_many_fixes_in_a_file_the_lines_that_a_gate_names_tell_the_culprits(bench, judge, most):
    lines = ["x = bad\n"] * 30
    lines[7] = lines[21] = "y = poor\n"
    made = bench({"a.py": "".join(lines)}, GATE, style=find_rich)
    made.judge = judge(style=find_rich)
    run = made.run()
    left = {line for (_, line), status in statuses(run).items() if status is not Status.FIXED}
    assert left == {8, 22}
    assert made.judge.runs.count("style") <= most
