"""A sample of the matrix of workflows, real agents and kinds of fixers that tools/agent_matrix.py runs as a whole."""

import pytest
from matrix import AGENTS, BEHAVIOURS, WORKFLOWS, Cell, describe, find_faults, play
from wholerun import FAULTS

from needs import rarely
from punchlist.workflow.loader import builtin_names


@pytest.mark.parametrize(
    ("agent", "workflow", "behaviour"),
    [
        ("codex", "verified", "contradicting"),
        ("claude", "unified", "excusing"),
        *rarely(
            ("codex", "converge", "honest"),
            ("claude", "challenged", "forgetful"),
            ("gemini", "accountable", "forgetful"),
            ("gemini", "verified", "rate-limited"),
            ("opencode", "challenged", "honest"),
            ("opencode", "unified", "never-ending"),
        ),
    ],
)
def test_no_finding_is_lost_and_no_lie_is_believed(repo, tmp_path, agent, workflow, behaviour):
    assert find_faults(play(Cell(agent, workflow, behaviour), repo, tmp_path)) == []


TITLES = [fault.title for fault in FAULTS.values()]
FIXED, FILED = ["fixed", ["checked"]], ["filed", []]


def outcome(behaviour: str, code: int, *ends) -> dict:
    items = dict(zip(TITLES, ends, strict=False))
    return {"behaviour": behaviour, "exit": code, "items": items, "adds_up": True}


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        (outcome("honest", 0, FIXED, FIXED), []),
        (outcome("forgetful", 1, FIXED, FILED), []),
        (outcome("silent", 3, FILED, FILED), []),
        (outcome("excusing", 1, FILED), [f"lost: {TITLES[1]}"]),
        (outcome("excusing", 1, FILED, FIXED), [f"called fixed: {TITLES[1]}"]),
        (outcome("honest", 1, FIXED, FILED), [f"not fixed: {TITLES[1]}"]),
        (outcome("honest", 0, FIXED, ["fixed", []]), [f"fixed without a proof: {TITLES[1]}"]),
        (outcome("silent", 0, FILED, FILED), ["exit code 0 with 0 of 2 fixed"]),
    ],
)
def test_what_must_not_be_is_noticed(told, wrong):
    assert find_faults(told) == wrong
    assert f"exit {told['exit']}" in describe(told)


def test_the_matrix_has_the_workflows_and_agents_that_the_documents_speak_of():
    assert set(WORKFLOWS) == set(builtin_names()) - {"proven", "review", "again"}
    assert len(AGENTS) * len(WORKFLOWS) * len(BEHAVIOURS) == 140
