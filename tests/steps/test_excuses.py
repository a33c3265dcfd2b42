"""Which reasons are none."""

import pytest

from punchlist.model.integrity.weak_excuses import find_excuse


@pytest.mark.parametrize(
    "reason",
    [
        "", "   ", "out of scope", "This is out-of-scope for the PR", "Pre-existing issue", "would take too long",
        "it's too complex", "better in a separate PR", "should go into a follow-up ticket", "not my change", "I need more context",
        "needs further investigation", "will be fixed later", "requires a major refactoring", "nice to have", "not\nenough\ntime",
        "legacy code", "works as intended",
    ],
)  # fmt: skip
def test_a_weak_reason_is_known_in_any_dress(reason):
    assert find_excuse(reason)


@pytest.mark.parametrize(
    "reason",
    [
        "the package `lxml` is not installed and cannot be added without the owner",
        "the API this calls was removed by its vendor; a person has to choose a new one",
        "two requirements contradict each other: R3 wants None, R7 wants an exception",
        "the file is generated; its template is in another repository",
    ],
)
def test_a_real_reason_is_accepted(reason):
    assert not find_excuse(reason)
