"""Whatever word a reviewer has for it, a finding gets a rank, and never the lowest by accident."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.finding.severity import Severity, parse_severity, worst_severity


@pytest.mark.parametrize(
    ("severity", "words"),
    [
        (
            Severity.CRITICAL,
            "critical Blocker P0 ERROR high [CRITICAL] (high) must_fix|Must fix|Critical (P0)|high/medium|🔴 Critical|Severity: High",
        ),
        (Severity.MAJOR, "important Major p1 WARNING warn medium should-fix|Medium!|Priority: P1"),
        (Severity.MINOR, "minor LOW P2 note info nit Nitpick: |Nice to have|style hint"),
    ],
)
def test_words_of_all_kinds_are_understood(severity, words):
    for word in (
        word
        for part in words.split("|")
        for word in (part.split() if part.count(" ") > 2 else [part])
    ):
        assert parse_severity(word) == (severity, True), word


@pytest.mark.parametrize(
    "word", ["", None, "catastrophic", "not critical", "non-critical", "7", "???"]
)
def test_an_unknown_word_ranks_major_and_is_said_to_be_unknown(word):
    assert parse_severity(word) == (Severity.MAJOR, False)


@given(st.text())
def test_no_word_ranks_lowest_unless_it_is_known(word):
    severity, known = parse_severity(word)
    assert known or severity is Severity.MAJOR


@given(st.lists(st.sampled_from(Severity), min_size=1))
def test_the_worst_of_several_is_none_less_than_any(severities):
    assert all(worst_severity(severities).rank <= severity.rank for severity in severities)
