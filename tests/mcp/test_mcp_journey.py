"""The whole way: findings come in, another agent fixes them in the folder it is given, punchlist judges, commits and proves."""

from clients import edit, write
from workbench import EDITS, finding

TEST = (
    "import unittest\n\nfrom shop.prices import cheapest\n\n\n"
    "class Cheapest(unittest.TestCase):\n    def test_cheapest(self):\n        self.assertEqual(cheapest([3, 1, 2]), 1)\n"
)


def test_another_agent_is_the_fixer_and_punchlist_proves_and_commits_what_it_did(place):
    before = place.repo.git("status", "--porcelain"), place.repo.head

    async def story(agent):
        handed = await agent.call(
            "submit_findings",
            findings=[finding("cheapest")],
            workflow="proven",
            play=["fixer"],
            key="k1",
        )
        (item,) = handed["items"]
        assert (item["code"], item["title"], item["status"]) == (
            "F001",
            "cheapest() returns the dearest",
            "open",
        )
        task = await agent.task(handed["run"])
        assert (task["role"], task["writes"], task["answer_with"]) == (
            "fixer",
            True,
            "report_outcomes",
        )
        assert [each["code"] for each in task["items"]] == ["F001"]
        assert "cheapest() returns the dearest" in task["prompt"]
        edit(task["folder"], *EDITS["cheapest"])
        write(task["folder"], "tests/test_cheapest.py", TEST)
        said = {
            "id": "F001",
            "outcome": "fixed",
            "explanation": "the first is the least",
            "tests": ["tests/test_cheapest.py"],
        }
        told = await agent.call("report_outcomes", task=task["task"], outcomes=[said])
        assert told["not_mentioned"] == []
        ended = await agent.ended(handed["run"])
        assert (ended["outcome"], ended["by_status"]["fixed"]) == ("fixed", 1)
        proof = await agent.call("ask_for_proof", run=handed["run"], items=[1])
        whole = await agent.call("run_status", run=handed["run"], after=1)
        return handed["run"], proof["items"][0], whole["story"]

    run, proof, told = place.do(story)
    assert proof["proven"] is True
    assert [each["kind"] for each in proof["proofs"]] == ["witnessed", "checked", "claim"]
    assert proof["branch"] == f"punchlist/{run}"
    assert place.repo.git("show", f"punchlist/{run}:shop/prices.py").endswith(
        "return sorted(prices)[0]"
    )
    assert proof["commit"] in place.repo.git("log", "--format=%H", f"punchlist/{run}")
    assert {attempt["by"] for attempt in proof["attempts"] if attempt["fact"] == "said-fixed"} == {
        "outside"
    }
    assert any("claims 1 item fixed" in moment["said"] for moment in told)
    assert (place.repo.git("status", "--porcelain"), place.repo.head) == before
