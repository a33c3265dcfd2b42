"""Identity: a finding stays the same one while the code around it moves, and no other takes its place."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.dedup.alignment import LineMap, align_lines
from punchlist.model.dedup.identity import Source, fingerprint, match_findings
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity

CODE = """\
import os
import sys


def load(path, mode):
    handle = open(path)
    if handle == None:
        return None
    return handle.read()


class Page:
    @property
    def size(self):
        if self.body == None:
            return 0
        return len(self.body)
"""


def found(
    text,
    needle,
    *,
    path="src/a.py",
    nth=0,
    rule="E711",
    title="Comparison to `None`",
    source="ruff",
    **more,
):
    """A finding at the nth place of the needle in the text."""
    at = -1
    for _ in range(nth + 1):
        at = text.index(needle, at + 1)
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    spot = Spot(path, line, line + needle.count("\n"), column, column + len(needle))
    context = Source(path, text).context_at(spot, title)
    return Finding(
        id=f"{path}:{line}:{column}:{rule}",
        source=source,
        rule=rule,
        title=title,
        spot=spot,
        severity=Severity.MINOR,
        context=context,
        **more,
    )


def both(text, path="src/a.py"):
    return [found(text, "handle == None", path=path), found(text, "self.body == None", path=path)]


def test_a_context_knows_the_symbol_and_the_code_without_its_layout():
    context = found(CODE, "self.body == None", title="`self.body` compared in `Page.size`").context
    assert context.symbol == "Page.size"
    assert context.span == "self.body==None"
    assert context.before.endswith("defsizeself:if")
    assert context.after.startswith(":return0")
    assert context.names == ("Page.size", "self.body")


@pytest.mark.parametrize(
    ("path", "text", "line", "symbol"),
    [
        ("a.py", "def f(:\n    x = 1\n\ny = 2\n", 2, "f"),
        ("a.py", "def f(:\n    x = 1\n\ny = 2\n", 4, ""),
        ("a.js", "class A {\n  run(x) {\n    go(x);\n  }\n}\nrest();\n", 3, "A.run"),
        ("a.js", "const load = async (x) => {\n  go(x);\n};\nrest();\n", 2, "load"),
        ("a.js", "class A {\n  run(x) {\n    go(x);\n  }\n}\nrest();\n", 6, ""),
        ("a.go", "func (p *Page) Size() int {\n\treturn 1\n}\n", 2, "Size"),
        ("a.rs", "pub fn size(&self) -> usize {\n    1\n}\n", 2, "size"),
        ("a.c", "int size(int a)\n{\n    return a;\n}\n", 3, "size"),
        ("a.sh", "load() {\n  cat x\n}\n", 2, "load"),
        ("a.rb", "class Page\n  def size\n    1\n  end\nend\n", 3, "Page.size"),
    ],
)
def test_symbols_are_found_in_broken_python_and_in_other_languages(path, text, line, symbol):
    assert Source(path, text).context_at(Spot(path, line)).symbol == symbol


@pytest.mark.parametrize(
    "spot",
    [
        Spot("a.py"),
        Spot("a.py", 999),
        Spot("a.py", 0),
        Spot("a.py", 3, 1, 500, 2),
        Spot("a.py", 5, 999, 1, 1),
    ],
)
def test_a_spot_outside_the_file_gives_a_context_all_the_same(spot):
    assert Source("a.py", CODE).context_at(spot, "`name`").names == ("name",)


@pytest.mark.parametrize(
    "text", ["", "\0", "(" * 5000, "x = '\\d'\n", "\ud800 = 1", "\ufeffimport os\r\nx=1\r"]
)
def test_odd_files_have_contexts_too(text):
    assert Source("a.py", text).context_at(Spot("a.py", 1, 1, 1, 2)) is not None


def test_lines_are_counted_as_tools_count_them():
    text = "a = '\x0c\u2028'\nb = 1\r\nc = 2\rd = 3\n"
    assert [Source("a.py", text).context_at(Spot("a.py", line)).span for line in (2, 3, 4)] == [
        "b=1",
        "c=2",
        "d=3",
    ]


def test_a_minified_file_is_measured_once():
    text = "f(x);" * 100_000
    source = Source("a.js", text)
    spans = {
        source.context_at(Spot("a.js", 1, 1, column, column + 1)).span
        for column in range(1, 50_001, 5)
    }
    assert spans == {"f"}


MOVES = {
    "lines inserted above": lambda text: "# a\n# b\nimport re\n" + text,
    "reformatted": lambda text: text.replace(
        "handle == None", "(\n        handle\n        == None\n    )"
    ).replace("path, mode", "path,\n    mode,\n"),
    "function moved to the end": lambda text: (
        text.replace(part := text[text.index("def load") : text.index("class Page")], "")
        + "\n\n"
        + part
    ),
    "other code edited": lambda text: text.replace(
        "return handle.read()", "data = handle.read()\n    return data"
    ),
    "indented": lambda text: text.replace("def load", "if True:\n  def load").replace(
        "\n    ", "\n      "
    ),
}


@pytest.mark.parametrize("move", MOVES)
def test_a_finding_keeps_its_identity_when(move):
    changed = MOVES[move](CODE)
    needle = "handle\n        == None" if move == "reformatted" else "handle == None"
    new = [found(changed, "self.body == None"), found(changed, needle)]
    assert match_findings(both(CODE), new) == {0: 1, 1: 0}


def test_a_finding_keeps_its_identity_when_the_file_is_renamed_with_and_without_being_told():
    new = both(CODE, path="src/b.py")
    assert match_findings(both(CODE), new) == {0: 0, 1: 1}
    bare = [
        Finding(
            id=f.id, source=f.source, rule=f.rule, title=f.title, spot=f.spot, severity=f.severity
        )
        for f in both(CODE)
    ]
    moved = [
        Finding(
            id=f.id, source=f.source, rule=f.rule, title=f.title, spot=f.spot, severity=f.severity
        )
        for f in new
    ]
    assert match_findings(bare, moved) == {}
    assert match_findings(bare, moved, {"src/a.py": "src/b.py"}) == {0: 0, 1: 1}


def test_a_new_similar_finding_elsewhere_does_not_take_the_place_of_one_that_is_gone():
    fixed = (
        CODE.replace("handle == None", "handle is None")
        + "\n\ndef other(x):\n    return x == None\n"
    )
    new = [found(fixed, "self.body == None"), found(fixed, "x == None")]
    assert match_findings(both(CODE), new) == {0: 1}


def test_an_unused_import_in_another_file_is_not_the_one_that_was_removed():
    def unused(text, path):
        return found(text, "os", path=path, rule="F401", title="`os` imported but unused")

    assert (
        match_findings(
            [unused("import os\n\nprint(1)\n", "a.py")], [unused("import os\n\nprint(2)\n", "b.py")]
        )
        == {}
    )


def test_of_several_look_alikes_the_ones_still_there_are_found_by_where_they_stand():
    text = "".join(f"x{n} = 1\nvalue == None\n" for n in range(9))
    old = [found(text, "value == None", nth=n) for n in range(9)]
    less = text.replace("x3 = 1\nvalue == None\n", "x3 = 1\nvalue is None\n").replace(
        "x6 = 1\nvalue == None\n", "x6 = 1\nvalue is None\n"
    )
    new = [found(less, "value == None", nth=n) for n in range(7)]
    assert match_findings(old, new) == dict(enumerate([0, 1, 2, 4, 5, 7, 8]))


def test_a_claim_in_words_is_known_by_its_names_and_not_by_its_prose():
    def claim(text, title):
        return found(text, "handle == None", rule="", title=title, source="agent", category="bug")

    old = claim(CODE, "`handle` is compared with None the wrong way")
    new = claim("import re\n" + CODE, "Use an identity test for `handle` here")
    assert match_findings([old], [new]) == {0: 0}
    assert fingerprint(old) == fingerprint(new)


def test_a_fingerprint_ignores_lines_layout_and_prose_and_tells_rule_place_and_twins_apart():
    one, other = both(CODE)
    again = found(
        "# new\n\n" + CODE.replace("handle == None", "handle  ==  None"),
        "handle  ==  None",
        title="Said differently",
    )
    assert fingerprint(one) == fingerprint(again)
    assert (
        len(
            {
                fingerprint(one),
                fingerprint(other),
                fingerprint(one, 1),
                fingerprint(found(CODE, "handle == None", rule="E712")),
            }
        )
        == 4
    )
    assert fingerprint(found(CODE, "handle == None", path="src/b.py")) != fingerprint(one)
    int(fingerprint(one), 16)


def test_matching_does_not_depend_on_the_order_of_either_side():
    text = "".join(f"def f{n % 5}(v):\n    return v == None\n" for n in range(40))
    old = [found(text, "v == None", nth=n) for n in range(40)]
    new = [found("import os\n" + text, "v == None", nth=n) for n in range(40)]
    rng = Random(3)
    mixed = rng.sample(range(40), 40)
    pairs = match_findings(old, [new[n] for n in mixed])
    assert {mixed[n]: o for n, o in pairs.items()} == match_findings(old, new)


@given(st.lists(st.integers(0, 60), max_size=12), st.lists(st.integers(0, 60), max_size=12))
def test_an_alignment_is_one_to_one_in_order_and_leaves_nobody_out(new, old):
    pairs = align_lines(sorted(new), sorted(old))
    assert len(pairs) == min(len(new), len(old))
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


def test_an_alignment_takes_the_least_total_distance():
    assert align_lines([10, 50], [9, 20, 30, 51]) == [(0, 0), (1, 3)]
    assert align_lines([9, 20, 30, 51], [10, 50]) == [(0, 0), (3, 1)]


def test_a_line_map_follows_the_nearest_certain_pair():
    moved = LineMap([(10, 5), (100, 90)])
    assert [moved.old_line(line) for line in (8, 12, 99, 200)] == [3, 7, 89, 190]
    assert LineMap([]).old_line(7) == 7


def test_twenty_thousand_findings_that_all_moved_are_matched_at_once():
    def many(shift):
        return [
            Finding(
                id=str(n),
                source="ruff",
                rule=f"R{n % 40}",
                title="Said",
                spot=Spot(f"m{n % 200}.py", n + shift),
                severity=Severity.MINOR,
            )
            for n in range(20_000)
        ]

    assert match_findings(many(0), many(3)) == {n: n for n in range(20_000)}
