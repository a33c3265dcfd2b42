"""Consolidation: what becomes one item, what stays two, and the laws that hold for every rule and every input."""

import sys
from functools import partial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist.model.dedup.merge import MergeRule, group_findings
from punchlist.model.dedup.near_rule import TitleDistance
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity

NUMBER = iter(range(10**9))


def finding(
    title,
    line=None,
    end=None,
    *,
    source="alice",
    rule="",
    path="src/a.py",
    severity=Severity.MINOR,
    column=None,
    **more,
):
    spot = Spot(path, line, end, column, more.pop("end_column", None))
    return Finding(
        id=f"f{next(NUMBER)}",
        source=source,
        title=title,
        rule=rule,
        spot=spot,
        severity=severity,
        **more,
    )


def sizes(findings, rule=MergeRule.SMART):
    return sorted(len(group) for group in group_findings(findings, rule))


@pytest.mark.parametrize("rule", [MergeRule.NEAR, MergeRule.SMART])
def test_overlapping_findings_with_one_title_are_one_item_of_the_worse_severity_with_both_texts(
    rule,
):
    minor = finding("Missing null check", 12, 18, source="bob", detail="seen by bob")
    major = finding("Missing null check", 10, 15, severity=Severity.MAJOR, detail="seen by alice")
    assert group_findings([minor, major], rule) == [(major, minor)]


@pytest.mark.parametrize("rule", [MergeRule.NEAR, MergeRule.SMART])
def test_the_same_title_far_away_or_in_another_file_is_another_item(rule):
    here = finding("Missing null check", 10, 15)
    assert sizes([here, finding("Missing null check", 100, 110, source="bob")], rule) == [1, 1]
    assert sizes(
        [here, finding("Missing null check", 10, 15, source="bob", path="src/b.py")], rule
    ) == [1, 1]


@pytest.mark.parametrize("rule", [MergeRule.NEAR, MergeRule.SMART])
def test_a_missing_line_overlaps_but_does_not_tie_together_what_is_far_apart(rule):
    first, second = (
        finding("Missing null check", 10),
        finding("Missing null check", 100, source="bob"),
    )
    unplaced = finding("Missing null check", source="carol", severity=Severity.CRITICAL)
    assert sizes([first, unplaced], rule) == [2]
    assert sizes([first, second, unplaced], rule) == [1, 1, 1]


def test_the_near_rule_looks_five_lines_far_and_at_three_tenths_of_a_title():
    here = finding("abcdefghij", 10)
    assert sizes([here, finding("abcdefghij", 15)], MergeRule.NEAR) == [2]
    assert sizes([here, finding("abcdefghij", 16)], MergeRule.NEAR) == [1, 1]
    assert sizes([here, finding("abcdefghXY", 10)], MergeRule.NEAR) == [2]
    assert sizes([here, finding("abcdefgXYZ", 10)], MergeRule.NEAR) == [1, 1]


def test_the_exact_rule_asks_for_file_line_and_category():
    here = finding("One thing", 10, category="bug")
    assert sizes([here, finding("Said otherwise", 10, category="bug")], MergeRule.EXACT) == [2]
    assert sizes([here, finding("One thing", 10, category="style")], MergeRule.EXACT) == [1, 1]
    assert sizes([here, finding("One thing", 11, category="bug")], MergeRule.EXACT) == [1, 1]


def test_the_exact_rule_does_not_make_one_of_all_that_has_neither_line_nor_category():
    assert sizes([finding("Missing null check"), finding("SQL injection")], MergeRule.EXACT) == [
        1,
        1,
    ]


@pytest.mark.parametrize("line", [None, 10])
@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("unused variable a", "unused variable b"),
        ("Unused import `os`", "Unused import `sys`"),
        ("SQL injection in get_user", "SQL injection in get_order"),
        ("`load_page` may return None", "load_index() may return None here"),
    ],
)
def test_titles_that_differ_only_in_an_identifier_are_two(one, two, line):
    assert sizes([finding(one, line), finding(two, line, source="bob")]) == [1, 1]


def test_a_third_claim_does_not_tie_together_what_an_identifier_tells_apart():
    user, order = (
        finding("SQL injection in get_user", 20, 30),
        finding("SQL injection in get_order", 20, 30, source="bob"),
    )
    bridge = finding(
        "SQL built by formatting lets callers of get_user inject code", 22, source="carol"
    )
    apart = group_findings([user, order, bridge])
    assert not any(user in group and order in group for group in apart)


def test_two_different_bugs_in_one_function_stay_two():
    race = finding("Cache refresh races with the writer thread", 20, 40)
    leak = finding("File handle is never closed when parsing fails", 20, 40, source="bob")
    assert sizes([race, leak]) == [1, 1]


def test_two_reviewers_say_the_same_of_the_same_lines_in_their_own_words():
    one = finding("Token comparison in `verify_token` leaks timing information", 30, 34)
    two = finding(
        "`verify_token` compares the token with ==, a timing side channel", 31, source="bob"
    )
    assert sizes([one, two]) == [2]


def test_equal_labels_of_different_reviewers_mean_nothing():
    one = finding("SQL injection in the search form", 5, label="F001")
    two = finding("Button is not centred", 5, label="F001", source="bob")
    assert sizes([one, two]) == [1, 1]


def test_the_same_defect_by_the_rules_of_four_tools_is_one_item():
    same = [
        finding(
            "`os` imported but unused", 1, 1, source="ruff", rule="F401", column=8, end_column=10
        ),
        finding("'os' imported but unused", 1, source="flake8", rule="F401", column=1),
        finding("Unused import os", 1, 1, source="pylint", rule="W0611", column=1, end_column=10),
        finding('Import "os" is not accessed', 1, source="other", rule="unused-import"),
    ]
    assert sizes(same) == [4]


def test_two_unused_imports_on_one_line_are_two_items_of_two_tools_each():
    both = [
        finding(
            f"`{name}` imported but unused",
            1,
            1,
            source="ruff",
            rule="F401",
            column=column,
            end_column=column + 2,
        )
        for name, column in (("os", 8), ("re", 12))
    ] + [
        finding(f"'{name}' imported but unused", 1, source="flake8", rule="F401", column=1)
        for name in ("os", "re")
    ]
    made = group_findings(both)
    assert sorted({tuple(sorted(f.title.strip("`'")[:2] for f in group)) for group in made}) == [
        ("os", "os"),
        ("re", "re"),
    ]


def test_two_rules_of_one_tool_are_never_merged_even_where_a_third_finding_is_like_both():
    one = finding("Use of assert detected in checkout", 7, source="ruff", rule="S101")
    two = finding("Assert detected on a tuple in checkout", 7, source="ruff", rule="F631")
    agent = finding("Use of assert on a tuple detected in checkout", 7, source="agent")
    assert all(
        len({f.rule for f in group if f.source == "ruff"}) <= 1
        for group in group_findings([one, two, agent])
    )


def test_one_tool_with_one_rule_twice_on_a_line_stays_two():
    twice = [
        finding("Magic value", 3, 3, source="ruff", rule="PLR2004", column=c, end_column=c + 2)
        for c in (5, 15)
    ]
    assert sizes(twice) == [1, 1]


def test_the_same_report_given_twice_is_one_item():
    report = [
        finding("Line too long", 3, source="ruff", rule="E501", column=80),
        finding("Fix the parser", 9, detail="it breaks"),
    ]
    assert sizes([*report, *report]) == [2, 2]


def test_groups_come_by_severity_then_file_then_line():
    made = group_findings(
        [
            finding("d", 9, path="a.py"),
            finding("c", 1, path="b.py", severity=Severity.MAJOR),
            finding("b", 5, path="a.py", severity=Severity.MAJOR),
            finding("a", 2, path="z.py", severity=Severity.CRITICAL),
        ]
    )
    assert [group[0].title for group in made] == ["a", "b", "c", "d"]


TITLES = (
    "unused variable a",
    "unused variable b",
    "Missing null check",
    "Missing null checks",
    "SQL injection in get_user",
    "Typo",
)
RULES = (
    ("ruff", "S101"),
    ("bandit", "B101"),
    ("ruff", "F401"),
    ("pylint", "W0611"),
    ("alice", ""),
    ("bob", ""),
    ("carol", ""),
)


@st.composite
def reports(draw):
    source, rule = draw(st.sampled_from(RULES))
    line = draw(st.one_of(st.none(), st.integers(1, 20)))
    end = None if line is None else draw(st.one_of(st.none(), st.integers(line, line + 6)))
    return finding(
        draw(st.sampled_from(TITLES)),
        line,
        end,
        source=source,
        rule=rule,
        path=draw(st.sampled_from(("a.py", "b.py"))),
        severity=draw(st.sampled_from(list(Severity))),
        category=draw(st.sampled_from(("", "bug"))),
    )


@pytest.mark.parametrize("rule", list(MergeRule))
@settings(deadline=None, max_examples=150)
@given(given_=st.lists(reports(), max_size=14), seed=st.integers(0, 99))
def test_every_finding_is_in_one_group_whatever_the_order_and_merging_again_changes_nothing(
    rule, given_, seed
):
    once = group_findings(given_, rule)
    assert sorted(f.id for group in once for f in group) == sorted(f.id for f in given_)
    shuffled = list(given_)
    Random(seed).shuffle(shuffled)
    assert group_findings(shuffled, rule) == once
    assert group_findings([f for group in once for f in group], rule) == once
    assert group_findings([group[0] for group in once], rule) == [(group[0],) for group in once]
    assert all(group[0].severity.rank == min(f.severity.rank for f in group) for group in once)


@settings(deadline=None, max_examples=150)
@given(given_=st.lists(reports(), max_size=14))
def test_the_smart_rule_never_merges_two_rules_of_one_tool_or_lines_far_apart(given_):
    for group in group_findings(given_):
        for source in {f.source for f in group}:
            assert len({f.rule for f in group if f.source == source}) == 1
        placed = sorted((f.spot.line, f.spot.last_line) for f in group if f.spot.line)
        end = placed[0][1] if placed else 0
        for first, last in placed:
            assert first <= end + 5
            end = max(end, last)


def _count_calls(work):
    """Return how many functions it calls, of Python and of C."""
    calls = 0

    def count(frame, event, arg):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def _make_batch(shape, count):
    rng = Random(count)
    place = {
        "spread": lambda: rng.randrange(1, count),
        "hot": lambda: rng.randrange(1, 40),
        "nowhere": lambda: None,
        "one rule": lambda: rng.randrange(1, count),
    }[shape]
    told = [(each, "") for each in ("alice", "bob")]
    tools = [("ruff", "S101"), ("bandit", "B101")] if shape == "one rule" else []
    for _ in range(count):
        source, rule = rng.choice(told + tools)
        title = f"Claim about thing_{rng.randrange(count)} in {rng.choice('abcdef')}"
        title = "Use of assert" if shape == "one rule" else title
        yield finding(title, place(), source=source, rule=rule)


@pytest.mark.parametrize("rule", list(MergeRule))
@pytest.mark.parametrize("shape", ["spread", "hot", "nowhere", "one rule"])
def test_work_grows_near_linearly_in_one_place_without_lines_and_where_one_rule_repeats(
    rule, shape
):
    few, many = (
        _count_calls(partial(group_findings, list(_make_batch(shape, count)), rule))
        for count in (500, 4000)
    )
    assert many < few * 8 * 2, f"eight times as many took {many / few:.0f} times as many calls"


def test_a_claim_that_repeats_what_a_tool_says_of_the_line_is_the_same_item():
    tool = finding(title="f-string without any placeholders", rule="F541", source="ruff", line=4)
    said = finding(title=tool.title, rule="", source="bot", line=4, detail="Drop the prefix. " * 40)
    assert sizes([tool, said]) == [2]
    assert sizes([tool, finding(title=tool.title, rule="", source="bot", line=9)]) == [1, 1]
    twin = finding(title=tool.title, rule="F541", source="ruff", line=4, column=30)
    assert len(sizes([tool, twin, said])) == 3, "it may be about either"


def _count_edits(one, other):
    """Levenshtein's distance by its definition."""
    row = list(range(len(other) + 1))
    for place, char in enumerate(one, 1):
        above, row = row, [place]
        for at, each in enumerate(other, 1):
            row.append(min(above[at] + 1, row[-1] + 1, above[at - 1] + (char != each)))
    return row[-1]


_TITLES = st.text("abcdé😀", max_size=80)


@given(_TITLES, _TITLES, st.integers(0, 80), st.integers(0, 20))
def test_titles_are_near_if_less_than_30_percent_of_the_longer_one_differs(one, other, at, count):
    for near in (other, one[:at] + other[:count] + one[at + count // 2 :]):
        edits = _count_edits(one, near)
        assert TitleDistance(one).measure(near) == edits
        assert TitleDistance(one).is_near(near) == (edits < 0.3 * max(len(one), len(near), 1))
