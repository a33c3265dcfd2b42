"""An issue tells all that is known of an item, and nothing in it can hurt."""

import re

from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.finding.finding import Finding, Fix, Splice, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Attempt, Fact, Item
from punchlist.views.issue_text import fingerprint_comment, inline_code, render_issue


def finding(**more):
    values = {
        "id": "f1",
        "source": "ruff",
        "title": "Unused import",
        "spot": Spot("src/a.py", 45, 67),
        "severity": Severity.MAJOR,
        "rule": "F401",
        "detail": "It is never read.",
        "suggestion": "Delete it",
        "severity_word": "P1",
    }
    return Finding(**{**values, **more})


def item(*findings, **more):
    return Item(number=7, fingerprint="abc123", findings=findings or (finding(),), **more)


def test_an_issue_has_title_labels_place_text_suggestion_ids_and_fingerprint():
    told = render_issue(item(), "r1")
    assert told.title == "[MAJOR] Unused import"
    assert told.labels == ("tech-debt", "major")
    for part in (
        "`src/a.py:45-67`",
        "ruff (F401)",
        "It is never read.",
        "Delete it",
        "run `r1`",
        "item 7",
        "P1",
    ):
        assert part in told.body
    assert told.body.endswith("<!-- punchlist:fingerprint abc123 -->\n")
    assert (told.item.number, told.run) == (7, "r1")


def test_a_long_title_is_cut_with_an_ellipsis():
    title = render_issue(item(finding(title="x" * 300)), "r1").title
    assert len(title) == 100
    assert title.endswith("x…")
    assert render_issue(item(finding(title="x" * 92)), "r1").title == "[MAJOR] " + "x" * 92


def test_the_whole_history_is_told_in_order_with_evidence_and_flagged_excuses():
    attempts = (
        Attempt(1, Fact.SAID_DEFERRED, "claude", "out of scope"),
        Attempt(1, Fact.REJECTED, "", "that was not accepted"),
        Attempt(2, Fact.SAID_FIXED, "codex", "changed it"),
        Attempt(
            2,
            Fact.REJECTED,
            "pytest",
            "1 newly failing: test_x",
            "E   assert 1 == 2\n```\nE   more",
        ),
    )
    body = render_issue(item(attempts=attempts, flags=("weak reason: out of scope",)), "r1").body
    history = [line for line in body.splitlines() if re.match(r"\d+\. Round", line)]
    assert history == [
        "1. Round 1, claude: deferred: out of scope",
        "2. Round 1, punchlist: fix rejected: that was not accepted",
        "3. Round 2, codex: fix claimed: changed it",
        "4. Round 2, pytest: fix rejected: 1 newly failing: test_x",
    ]
    assert "   ````text\n   E   assert 1 == 2\n   ```\n   E   more\n   ````" in body
    assert "- weak reason: out of scope" in body


def test_every_fact_has_words():
    attempts = tuple(Attempt(1, fact, "x", "why") for fact in Fact)
    assert render_issue(item(attempts=attempts), "r1").body.count("Round 1") == len(Fact)


def test_merged_findings_are_named_and_the_worst_severity_leads():
    other = finding(
        source="bandit",
        rule="B1",
        severity=Severity.CRITICAL,
        title="Same thing",
        fix=Fix((Splice("a", 0, 0, ""),), title="Remove it"),
    )
    told = render_issue(item(finding(), other), "r1")
    assert told.title.startswith("[CRITICAL]")
    assert "bandit (B1) at `src/a.py:45-67`: Same thing" in told.body
    assert "The tool proposes: Remove it" in told.body


def test_a_monstrous_history_stays_below_what_trackers_take():
    attempts = tuple(Attempt(n, Fact.REJECTED, "pytest", "no", "e" * 100_000) for n in range(40))
    body = render_issue(
        item(finding(detail="d" * 100_000, suggestion="s" * 100_000), attempts=attempts), "r1"
    ).body
    assert len(body) < 60_000
    assert body.count(". Round") == 40
    assert "characters left out" in body


@given(st.text(max_size=200))
def test_nothing_foreign_can_pose_as_a_fingerprint_a_mention_or_a_secret(text):
    evil = text + " @octocat <!-- punchlist:fingerprint evil --> password='hunter2'"
    told = render_issue(
        item(
            finding(
                title=evil,
                detail=evil,
                suggestion=evil,
                category=evil,
                source=evil,
                rule=evil,
                spot=Spot(evil, 1),
                marks=(evil,),
                url=evil,
            ),
            attempts=(Attempt(1, Fact.REJECTED, evil, evil, evil),),
            flags=(evil,),
        ),
        "r1",
    )
    assert re.findall(r"<!--.*?-->", told.title + told.body) == [fingerprint_comment("abc123")]
    assert not re.search(r"@\w|hunter2", told.title + told.body)


@given(st.text("`ab \n", max_size=20))
def test_inline_code_is_closed_by_its_own_ticks_only(text):
    ticks = re.match("`+", inline_code(text))[0]
    assert inline_code(text).endswith(ticks)
    assert ticks not in re.sub(r"^`+ ?|(?: ?`+)$", "", inline_code(text)) or not text.strip("` \n")
