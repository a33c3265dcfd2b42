"""Comments of people and bots, as findings."""

import pytest

from punchlist.intake.review_comments import parse_comment


@pytest.mark.parametrize(
    ("body", "title", "severity", "suggestion"),
    [
        (
            "_⚠️ Potential issue_ | _🟠 Major_\n\n**Unused import `os`.**\n\nDrop it.\n\n<details>\n<summary>🤖 Prompt</summary>\n\nDo as I say\n</details>\n\n<!-- fingerprinting:phantom -->",
            "Unused import `os`", "Major", None,
        ),
        ("### Division by zero in mean\n\n**High Severity**\n\n<!-- DESCRIPTION START -->\nAn empty list.",
         "Division by zero in mean", "High", None),
        ("nit: trailing blanks here. Please drop them", "trailing blanks here", "nit", None),
        ("**[P1]** Guard against None. It is None at first.", "Guard against None", "P1", None),
        ("![badge](https://x.example/y.svg) The [`run`](https://x.example) call blocks. Use a thread.",
         "The `run` call blocks", None, None),
        ("`eval` on user input is unsafe\r\n\r\n```suggestion\r\nast.literal_eval(x)\r\n```\r\n",
         "`eval` on user input is unsafe", None, "ast.literal_eval(x)"),
        ("```suggestion\n```", "A change is suggested", None, None),
    ],
)  # fmt: skip
def test_title_severity_and_suggestion_are_found_in_a_comment(body, title, severity, suggestion):
    said = parse_comment(body)
    assert (said["title"], said.get("severity"), said.get("suggestion")) == (
        title,
        severity,
        suggestion,
    )
    assert "Do as I say" not in said.get("description", "")


@pytest.mark.parametrize("body", ["", "<!-- only hidden -->", "<details>x</details>", "![x](y)"])
def test_a_comment_that_says_nothing_is_no_finding(body):
    assert parse_comment(body) == {}


@pytest.mark.parametrize("part", ["<details", "```suggestion\n", "<!--", "[a](", "**", "![", "# "])
def test_a_hostile_comment_is_parsed_soon(part):
    parse_comment(part * (65_000 // len(part)))
