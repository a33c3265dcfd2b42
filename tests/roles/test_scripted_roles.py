"""Roles with the agent that plays by the book: what it edits is in the tree, what it says is a claim."""

import asyncio

import msgspec
from canned import item

from punchlist.adapters.agents.scripted.agent import ScriptedAgent
from punchlist.adapters.agents.scripted.script import Script
from punchlist.model.item.claim import ClaimOutcome
from punchlist.ports.roles import Background, Exhibit, RoleTask
from punchlist.roles.crew import build_crew

LINES = [
    {
        "role": "technical",
        "answer": {
            "findings": [
                {"title": "Query is built by hand", "file_path": "src/a.py", "line_start": 5}
            ]
        },
    },
    {
        "role": "fixer",
        "label": "again",
        "answer": {
            "outcomes": [{"id": "F007", "outcome": "Fixed", "tests": ["tests/test_f007.py"]}]
        },
    },
    {
        "role": "fixer",
        "answer": "I have bound the name.",
        "session": "s1",
        "edits": [
            {"path": "src/a.py", "content": "def search(name):\n    return run(bind(name))\n"}
        ],
    },
    {"role": "challenger", "answer": {"issues": {"F007": {"score": 92, "status": "SOLVED"}}}},
]


def test_a_script_plays_reviewer_fixer_and_challenger(tree):
    agent = ScriptedAgent(msgspec.convert({"lines": LINES}, Script))
    cast = build_crew(dict.fromkeys(("technical", "fixer", "challenger"), agent), {}, 90_000)
    task = RoleTask(label="fix", items=(item(7),), told=Background())

    async def run():
        opinion = await cast.reviewers["technical"].review(tree, None, Background(), "review")
        claims = await cast.fixer.fix(task, tree)
        return opinion, claims, await cast.challenger.judge(task, [Exhibit(1, "", (7,))], tree)

    opinion, claims, judgement = asyncio.run(run())
    assert [finding.title for finding in opinion.findings] == ["Query is built by hand"]
    assert "bind(name)" in tree.text("src/a.py")
    assert [(report.outcome, report.tests) for report in claims.reports] == [
        (ClaimOutcome.FIXED, ("tests/test_f007.py",))
    ]
    assert judgement.scores[0].approves()
