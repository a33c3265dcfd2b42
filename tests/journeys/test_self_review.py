"""An agent that judges its own fix has proven nothing: that is self-review, whatever it is called."""

import pytest
from test_proven_agents import CLEAN
from workbench import fix, fixer, review, scores

from punchlist.adapters.agents.settings import AgentSettings, RoleSettings
from punchlist.app.start.role_assignment import find_same_agents
from punchlist.model.item.item import Fact, Status
from punchlist.model.item.proof import ProofClass
from punchlist.settings import Settings
from punchlist.views.summary import find_gaps


def test_one_agent_that_fixes_and_scores_its_own_fix_is_no_second_reviewer(bench):
    """Nor is it when it reviews again in a new conversation and no longer reports the item."""
    bench.play(review("page", times=1), CLEAN, fixer(fix("page")), scores(F001=95))
    run = bench.run()
    item = run.items[1]
    assert item.status is Status.FIXED
    assert {proof.kind for proof in item.proofs} == {ProofClass.CLAIM, ProofClass.CHECKED}
    claim = "done; self-review: robot scored its own fix 95"
    assert [proof.said for proof in item.proofs if proof.kind is ProofClass.CLAIM] == [claim]
    assert claim in bench.repo.git("log", "-1", "--format=%B", run.landing.branch)
    assert any("robot judged its own fixes" in gap.what for gap in find_gaps(run))


def test_one_agent_that_contests_a_finding_does_not_agree_with_itself(bench):
    contest = fixer(fix("mean", "contested", "callers check for an empty list first"))
    bench.play(review("mean"), contest, scores(F001=95))
    run = bench.run()
    assert run.items[1].status is Status.FILED
    assert Fact.CONTEST_AGREED not in {attempt.fact for attempt in run.items[1].attempts}


@pytest.mark.parametrize(
    ("agents", "roles", "same"),
    [
        ({}, {}, ("claude",)),
        ({"claude": {"model": "a"}, "other": {"kind": "claude", "model": "a"}}, {}, ("claude",)),
        ({"claude": {"model": "a"}, "other": {"kind": "claude", "model": "b"}}, {}, ()),
        ({"other": {"command": ("claude",), "kind": "claude", "effort": "high"}}, {}, ("claude",)),
        ({"other": {"kind": "codex"}}, {}, ()),
        ({"other": {"kind": "claude", "env": {"BASE_URL": "http://elsewhere"}}}, {}, ()),
        ({}, {"challenger": {"model": "another"}}, ()),
    ],
)
def test_agents_are_the_same_by_program_and_model_and_not_by_name(agents, roles, same):
    judge = "other" if "other" in agents else "claude"
    settings = Settings(
        agent={name: AgentSettings(**own) for name, own in agents.items()},
        role={name: RoleSettings(**own) for name, own in roles.items()},
    )
    crew = {"fixer": ("claude",), "challenger": (judge,)}
    assert find_same_agents(crew, settings) == {f"challenger {judge}": same}
