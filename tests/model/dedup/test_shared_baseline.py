"""A baseline holds back what it knows, one to one, and nothing else."""

from msgspec.structs import replace

from punchlist.model.dedup.baseline import make_known, match_baseline, number_copies
from punchlist.model.dedup.identity import Source
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity

CODE = "def f(x):\n    try:\n        go(x)\n    except:\n        pass\n    try:\n        stay(x)\n    except:\n        pass\n"


def excepts(code, path="a.py", rule="E722"):
    source = Source(path, code)
    lines = [n for n, line in enumerate(code.splitlines(), 1) if line.strip() == "except:"]
    spots = [Spot(path=path, line=n, column=5, end_line=n, end_column=11) for n in lines]
    return [
        Finding(
            id=f"{n}",
            source="ruff",
            title="bare",
            spot=spot,
            severity=Severity.MAJOR,
            rule=rule,
            context=source.context_at(spot),
        )
        for n, spot in enumerate(spots)
    ]


def baseline(code=CODE, **more):
    return number_copies(map(make_known, excepts(code, **more)))


def new_lines(known, findings, moved=()):
    pairs = match_baseline(known, findings, moved)
    return [each.spot.line for index, each in enumerate(findings) if index not in pairs]


def test_moved_and_reformatted_code_is_known():
    later = "import a\n\n\n" + CODE.replace("go(x)", "go( x )")
    assert new_lines(baseline(), excepts(later)) == []


def test_a_second_copy_of_the_same_defect_is_new_wherever_it_stands():
    block = "    try:\n        more(x)\n    except:\n        pass\n"
    above = CODE.replace("def f(x):\n", f"def f(x):\n{block}")
    assert new_lines(baseline(), excepts(above)) == [4]
    assert new_lines(baseline(), excepts(CODE + block)) == [12]


def test_of_equal_copies_as_many_are_known_as_there_were():
    block = "    try:\n        go(x)\n    except:\n        pass\n" * 3
    two, four = "def f(x):\n" + block * 2, "def f(x):\n" + block * 3
    assert len(new_lines(baseline(two), excepts(four))) == 3


def test_another_rule_or_tool_on_the_same_line_is_new():
    assert len(new_lines(baseline(), excepts(CODE, rule="BLE001"))) == 2
    other = [replace(each, source="pylint") for each in excepts(CODE)]
    assert len(new_lines(baseline(), other)) == 2


def test_a_renamed_function_takes_its_findings_along_and_a_copied_one_does_not():
    renamed = CODE.replace("def f", "def g")
    assert new_lines(baseline(), excepts(renamed)) == []
    assert len(new_lines(baseline(), excepts(CODE + renamed))) == 2


def test_code_is_followed_to_another_file_only_if_its_own_file_is_gone():
    moved = excepts(CODE, path="b.py")
    assert len(new_lines(baseline(), moved)) == 2
    assert new_lines(baseline(), moved, {"a.py"}) == []


def test_the_lines_of_a_baseline_do_not_depend_on_where_the_code_stands():
    assert baseline("\n\n\n" + CODE) == baseline()
    assert (
        len(
            set(
                baseline("def f(x):\n" + "    try:\n        go(x)\n    except:\n        pass\n" * 6)
            )
        )
        == 6
    )
