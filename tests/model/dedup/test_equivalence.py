"""Rules of different tools that are one defect have one kind, and nothing else has."""

import pytest

from punchlist.model.dedup.rule_equivalence import is_shared, rule_kind
from punchlist.model.dedup.similarity import ClaimSimilarity, are_distinct
from punchlist.model.dedup.vocabulary import extract_names, last_parts, stem, vocabulary


@pytest.mark.parametrize(
    "rules",
    [
        ("S101", "B101"),
        ("S608", "B608"),
        ("S102", "B102", "W0122", "PLW0122", "exec-used"),
        ("F401", "W0611", "unused-import"),
        ("PLR0913", "R0913"),
        ("E501", "C0301", "line-too-long"),
        ("B904", "W0707", "raise-missing-from"),
        ("attr-defined", "reportAttributeAccessIssue", "unresolved-attribute"),
        (
            "no-unused-vars",
            "@typescript-eslint/no-unused-vars",
            "lint/correctness/noUnusedVariables",
        ),
        ("no-debugger", "lint/suspicious/noDebugger"),
    ],
)
def test_equivalent_rules_have_one_kind(rules):
    assert len({rule_kind(rule) for rule in rules}) == 1
    assert is_shared(rules[0])


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("B006", "S006"),
        ("B101", "B102"),
        ("F401", "F841"),
        ("C901", "R0912"),
        ("E711", "E721"),
        ("S105", "S106"),
        ("W605", "W0605"),
        ("B904", "S904"),
    ],
)
def test_rules_that_only_look_alike_do_not(one, two):
    assert rule_kind(one) != rule_kind(two)


def test_a_rule_nobody_else_has_names_itself():
    assert rule_kind("my-own/rule-7") == "rule-7"
    assert not is_shared("my-own/rule-7")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("`os` imported but unused", ("os",)),
        ("Unused variable 'ty', isn't it", ("ty",)),
        (
            "max_size_kb and maxSizeKB, e.g. in Site.load(), not snake_case",
            ("Site.load", "maxSizeKB", "max_size_kb"),
        ),
        ("Nothing here is code.", ()),
        ("call `client.get(url)` again", ("client.get", "url")),
    ],
)
def test_names_are_what_is_quoted_or_shaped_like_code(text, names):
    assert extract_names(text) == names


def test_names_are_compared_without_their_owner_and_spelling():
    assert last_parts("`Page.load_all` fails") == last_parts("loadAll fails")


def test_words_are_compared_without_their_endings():
    assert stem("validations") == stem("validation")
    assert stem("checked") == stem("checks") == "check"
    assert vocabulary("getUserName") == vocabulary("get user names")


def test_words_that_everybody_in_the_batch_uses_count_little():
    texts = [
        f"The theme colour of {name} is wrong"
        for name in ("header", "footer", "sidebar", "button", "badge", "modal")
    ]
    texts += ["Header theme colour is not right", "Race in the scheduler queue"]
    like = ClaimSimilarity(texts)
    assert like.score_pair(0, 6) > like.score_pair(1, 6) * 1.5
    assert like.score_pair(0, 7) < 0.05
    assert like.score_pair(0, 0) == pytest.approx(1)
    assert like.score_pair(0, 6) == like.score_pair(6, 0)


def test_an_empty_text_is_like_nothing():
    assert ClaimSimilarity(["", "", "a word"]).score_pair(0, 1) == 0


@pytest.mark.parametrize(
    ("one", "two", "apart"),
    [
        ("unused variable a", "unused variable b", True),
        ("missing check", "missing checks", False),
        ("`load` is slow", "`save` is slow today", True),
        ("`load` is slow", "loading takes too long in `load`", False),
    ],
)
def test_one_sentence_about_two_things_is_told_apart(one, two, apart):
    assert are_distinct(one, two) is apart
