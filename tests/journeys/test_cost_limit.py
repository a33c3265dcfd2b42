"""--max-cost holds within one call, and the summary says what was spent."""

import json
import sys

import pytest
from workbench import review

from punchlist.cli.drawing import draw_lines
from punchlist.cli.show.summary import render_summary
from punchlist.errors import BudgetSpent
from punchlist.model.ledger.outcome import RunOutcome

ENDLESS = """
import json, sys, time
if "You fix code" not in sys.stdin.read():
    print(json.dumps({"type": "result", "subtype": "success", "result": %r, "total_cost_usd": 0.01, "usage": {"input_tokens": 1000}}))
    sys.exit()
for number in range(500):
    use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "ls"}}
    usage = {"input_tokens": 1000, "output_tokens": 1}
    print(json.dumps({"type": "assistant", "session_id": "s", "message": {"id": f"m{number}", "content": [use], "usage": usage}}), flush=True)
while True:
    time.sleep(60)
"""


@pytest.fixture
def endless(bench):
    """A fixer whose model calls tools for ever, at a cent a call."""
    answer = json.dumps(review("mean")["answer"])
    (bench.folder / "endless.py").write_text(ENDLESS % answer)

    def play(prices="input-price = 10\noutput-price = 0\n", timeout=60):
        command = json.dumps([sys.executable, str(bench.folder / "endless.py")])
        (bench.folder / "settings.toml").write_text(
            f'[agents]\nuse = ["robot"]\ntimeout = {timeout}\nsandbox = false\n'
            f'[agent.robot]\nkind = "claude"\ncommand = {command}\n{prices}'
        )
        return bench

    return play


def show(run):
    return "\n".join(draw_lines(render_summary(run), 200))


def test_a_fixer_that_never_stops_is_stopped_at_the_limit_and_its_cost_is_shown(endless):
    run = endless().run("converge", flags={"limits.dollars": "0.05"})
    assert run.halted == "money limit of $0.05 reached"
    assert run.ended == RunOutcome.INCOMPLETE
    assert run.usage.dollars >= 0.05
    assert "at least $" in show(run)


def test_calls_that_time_out_are_counted_and_an_unknown_price_is_called_unknown(endless):
    run = endless(prices="", timeout=1).run("converge", flags={"limits.dollars": "0.5"})
    assert "cost of an agent's call is unknown" in run.halted
    assert run.usage.input_tokens >= 2000
    assert "1 call of unknown cost" in show(run)
    assert "$0.00" not in show(run)


def test_the_budget_of_a_day_stops_a_run_within_a_call_and_lets_no_other_begin(endless):
    bench, flags = endless(), {"limits.daily": "0.05"}
    run = bench.run("converge", flags=flags)
    assert run.halted == "money limit of $0.05 reached"
    with pytest.raises(BudgetSpent, match=r"budget of \$0.05 a day \(limits.daily\) is spent"):
        bench.run("accountable", flags=flags)
    assert bench.read_last().id == run.id, "it did not begin"


def test_a_price_that_is_not_known_is_over_the_budget_of_a_day(endless):
    bench = endless(prices="", timeout=1)
    bench.run("converge", flags={"limits.dollars": "0.5"})
    with pytest.raises(BudgetSpent, match="cannot be kept: the cost of an agent's call is unknown"):
        bench.run("accountable", flags={"limits.daily": "100"})


@pytest.mark.soak
def test_where_the_budget_of_a_month_is_spent_the_analyzers_review_alone_and_that_is_said(endless):
    bench, flags = endless(), {"limits.monthly": "0.05"}
    assert bench.run("converge", flags=flags).halted
    run = bench.run("converge", flags=flags)
    assert run.started.crew == {}
    assert run.started.workflow_name == "review", "the other one cannot be without agents"
    said = "No agent was asked: the budget of $0.05 a month (limits.monthly) is spent"
    assert said in run.started.change.notes
