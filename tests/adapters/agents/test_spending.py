"""What calls cost is counted while they run: also of calls that time out, are stopped, cancelled or killed."""

import asyncio
import json
import sys

import msgspec
import pytest
import seating

from punchlist.adapters.agents.cli_agent import CliAgent
from punchlist.adapters.agents.dialects.claude import Claude
from punchlist.adapters.agents.dialects.codex import Codex
from punchlist.adapters.agents.dialects.gemini import Gemini
from punchlist.adapters.agents.dialects.opencode import Opencode
from punchlist.adapters.agents.spending import Measured, Spending
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble
from punchlist.views.words import format_cost

PROGRAM = """
import json, os, sys, time
def say(**event): print(json.dumps(event), flush=True)
def called(number, tool="Bash", tokens=1000):
    block = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": {}} if tool else {"type": "text", "text": "bye"}
    for part in ({"type": "text", "text": "hm"}, block):
        say(type="assistant", session_id="s1", message={"id": f"m{number}", "content": [part], "usage": {
            "input_tokens": tokens - 400, "cache_read_input_tokens": 400, "output_tokens": 1}})
def ended():
    usage = {"input_tokens": 5, "output_tokens": 6}
    say(type="result", subtype="success", result="x", total_cost_usd=0.7, usage=usage)
def stepped(number, cost, reason="tool-calls"):
    say(type="step_finish", sessionID="s1", part={"id": f"p{number}", "reason": reason, "cost": cost, "messageID": f"m{number}",
        "tokens": {"input": 10, "output": 1}})
def hang():
    while True: time.sleep(60)
"""
PRICES = {"input_price": 10.0, "output_price": 0.0}


def made(tmp_path, dialect, program, *, spending=None, timeout=20, **settings):
    """An agent that is a Python program, and speaks a dialect."""
    (tmp_path / "agent.py").write_text(PROGRAM + program)
    command = (sys.executable, str(tmp_path / "agent.py"))
    setup = seating.seat(tmp_path, sandbox=False, command=command, timeout=timeout, **settings)
    setup = type(setup)(
        setup.name, setup.settings, setup.place, setup.artifacts, spending or Spending()
    )
    return CliAgent(dialect, setup)


def ask(tmp_path, *given, **more):
    return seating.asked(made(tmp_path, *given, **more), seating.tree(tmp_path))


@pytest.mark.parametrize(
    ("dialect", "program", "settings", "seen"),
    [
        (Claude(), "called(1); called(2); hang()", PRICES, Usage(0, 2000, 2, 0.02, cut=1)),
        (Claude(), "called(1); hang()", {}, Usage(0, 1000, 1, 0, unpriced=1, cut=1)),
        (Opencode(), "stepped(1, 0.2); stepped(2, 0.3); hang()", {}, Usage(0, 20, 2, 0.5, cut=1)),
        (Gemini(), "hang()", PRICES, Usage(unpriced=1, cut=1)),
        (Claude(), "called(1); os.kill(os.getpid(), 9)", PRICES, Usage(0, 1000, 1, 0.01, cut=1)),
        (Claude(), "called(1); sys.exit(3)", PRICES, Usage(0, 1000, 1, 0.01)),
        (Claude(), "called(1, tool=''); ended()", PRICES, Usage(0, 5, 6, 0.7)),
    ],
)  # fmt: skip
def test_what_a_call_reported_counts_however_it_ends(tmp_path, dialect, program, settings, seen):
    reply = ask(tmp_path, dialect, program, timeout=1, **settings)
    usage = msgspec.structs.replace(reply.usage, seconds=0)
    assert msgspec.structs.replace(usage, dollars=round(usage.dollars, 6)) == seen


def test_codex_is_counted_by_its_session_file(tmp_path):
    program = """
day = os.path.join(os.environ["HOME"], ".codex/sessions/2026/11/16")
os.makedirs(day)
def used(thread, tokens):
    info = {"total_token_usage": {"input_tokens": tokens, "output_tokens": 0}}
    with open(f"{day}/rollout-x-{thread}.jsonl", "a") as file:
        file.write(json.dumps({"type": "event_msg", "payload": {"type": "token_count", "info": info}}) + "\\n")
say(type="thread.started", thread_id="a-1")
used("b-2", 99_000)
for count in range(1, 4):
    used("a-1", count * 1000)
    say(type="item.completed", item={"type": "command_execution", "command": "ls"})
hang()
"""
    spending = Spending(limit=0.03)
    reply = ask(tmp_path, Codex(), program, spending=spending, **PRICES)
    assert (reply.trouble, round(reply.usage.dollars, 6)) == (AgentTrouble.LIMIT, 0.03)


@pytest.mark.parametrize(
    ("dialect", "program", "settings"),
    [
        (Claude(), "for n in range(99): called(n)\nhang()", PRICES),
        (Opencode(), "for n in range(99): stepped(n, 0.01)\nhang()", {}),
    ],
)
def test_a_model_that_never_stops_is_stopped_at_the_limit(tmp_path, dialect, program, settings):
    spending = Spending(limit=0.05)
    reply = ask(tmp_path, dialect, program, spending=spending, timeout=60, **settings)
    assert reply.trouble is AgentTrouble.LIMIT
    assert "the money limit of $0.05 is reached" in reply.failed
    assert reply.usage.dollars >= 0.05
    again = ask(tmp_path, dialect, program, spending=spending, **settings)
    assert (again.trouble, again.transcript) == (AgentTrouble.LIMIT, ""), "no call begins any more"


def test_an_answer_that_is_complete_when_the_limit_is_reached_counts(tmp_path):
    program = (
        "called(1, tool='StructuredOutput', tokens=9000)\n"
        "say(type='result', subtype='success', result='done', usage={'input_tokens': 9000})"
    )
    reply = ask(tmp_path, Claude(), program, spending=Spending(limit=0.05), **PRICES)
    assert (reply.text, reply.failed) == ("done", "")


def test_claude_is_told_what_is_left(tmp_path):
    program = "say(type='result', subtype='success', result=' '.join(sys.argv), usage={})"
    spending = Spending(limit=0.5, earlier=Usage(dollars=0.2))
    assert "--max-budget-usd 0.3000" in ask(tmp_path, Claude(), program, spending=spending).text


def test_what_a_cancelled_call_used_is_kept_for_the_ledger(tmp_path):
    spending = Spending(tmp_path / "spending", limit=9)
    agent = made(tmp_path, Claude(), "called(1); hang()", spending=spending, **PRICES)

    async def cancel():
        heard = asyncio.Event()
        asked = seating.Ask(role="fixer", label="x", prompt="x", folder=seating.tree(tmp_path))
        call = asyncio.create_task(agent.ask(asked, lambda text: text == "Bash" and heard.set()))
        hearing = asyncio.create_task(heard.wait())
        await asyncio.wait([call, hearing], return_when=asyncio.FIRST_COMPLETED)
        assert heard.is_set(), call.result()
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])

    asyncio.run(cancel())
    next_process = Spending(tmp_path / "spending", limit=0.01)
    assert "reached" in next_process.refusal_reason()
    cut = next_process.collect_cut()
    assert (round(cut.dollars, 6), cut.cut) == (0.01, 1)
    assert next_process.collect_cut() == Usage()


def test_with_a_limit_no_call_follows_one_of_unknown_cost():
    assert "cannot be kept" in Spending(limit=5, earlier=Usage(unpriced=1)).refusal_reason()
    assert not Spending(earlier=Usage(unpriced=1)).refusal_reason()


def test_what_other_workers_spend_counts_for_the_limit_and_what_was_cut_there_is_told_once():
    driver, helper = Spending(limit=1), Spending(limit=1, earlier=Usage(dollars=0.1))
    driver.set_elsewhere("unit", 0.6)
    assert (driver.dollars, driver.refusal_reason()) == (0.6, "")
    driver.open_call(lambda usage: usage).add(
        Measured(key="", usage=Usage(dollars=0.5)), lambda total: total
    )
    assert "reached" in driver.refusal_reason()
    helper.set_earlier(1.1)
    assert "reached" in helper.refusal_reason()
    assert helper.own_dollars == 0
    driver.end_elsewhere("unit", Usage(dollars=0.3), Usage(dollars=0.2, cut=1))
    assert driver.dollars == 1.0
    assert driver.collect_cut() == Usage(dollars=0.2, cut=1)
    assert driver.collect_cut() == Usage()


def test_unknown_cost_is_called_unknown():
    assert format_cost(Usage(input_tokens=5)) == "cost unknown"
    assert format_cost(Usage(unpriced=1)) == "cost unknown"
    assert format_cost(Usage(dollars=0.2, unpriced=1)) == "at least $0.20"
    assert format_cost(Usage(dollars=0.2)) == "$0.20"
    assert json.loads(msgspec.json.encode(Usage(dollars=0.2))) == {"dollars": 0.2}
