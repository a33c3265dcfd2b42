"""The same stories with every real agent, against a scripted model: it reads, edits, goes on, fails and dies as it should."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from calculator import ANSWER, BUG, FIXED, KEY, SCHEMA, fixing
from realkinds import KINDS, METERED, Careless, Unheard

from needs import rarely
from punchlist.adapters.agents.retry import AgentRetryPolicy, RetryingAgent
from punchlist.adapters.agents.spending import Spending
from punchlist.ports.agent import AgentTrouble, Ask

TROUBLES = {401: AgentTrouble.AUTH, 429: AgentTrouble.RATE_LIMIT, 529: AgentTrouble.OVERLOADED}
FOREVER = {"tool": "@shell", "input": {"cmd": "tail -f /dev/null"}}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def real(kind, bench):
    return bench(kind, KINDS[kind].dialect)


def test_a_reviewer_answers_in_the_wanted_form_and_cannot_change_a_file_even_if_the_model_tries(
    kind, real, scripted
):
    forced = [
        {
            "tool": "Edit",
            "input": {
                "file_path": str(real.tree / "calc.py"),
                "old_string": "a - b",
                "new_string": "a + b",
            },
        },
        {
            "tool": "edit",
            "input": {
                "file_path": str(real.tree / "calc.py"),
                "old_string": "a - b",
                "new_string": "a + b",
            },
        },
        {"tool": "exec_command", "input": {"cmd": "sed -i s/-/+/ calc.py"}},
    ]
    model = scripted(*fixing(real.tree)[:3], *forced, *fixing(real.tree)[3:])
    reply = real.ask(role="reviewer", schema=SCHEMA, settings=KINDS[kind].settings(model.url))
    assert (reply.failed, reply.trouble) == ("", None)
    assert json.loads(reply.text) == ANSWER
    assert (real.calc, real.changed) == (BUG, "")
    assert "calc.py" in reply.opened
    assert reply.session
    assert reply.usage.input_tokens >= 4000
    assert reply.usage.output_tokens >= 400
    assert "Reading." in real.heard


@pytest.mark.parametrize("heard", [True, False], ids=["heard", "unheard"])
@pytest.mark.parametrize(
    "name", ["claude", "codex", *rarely("qwen", "gemini", "copilot", "opencode")]
)
def test_a_model_that_never_stops_calling_tools_is_stopped_at_the_limit(
    name, heard, bench, scripted
):
    """Unheard, nothing of its output is read while it works: then the proxy alone stops it."""
    dialect, settings = METERED[name]
    real = bench(name, dialect if heard else Unheard(dialect))
    # Not twice the same call: some programs stop by themselves then.
    steps = ({"tool": "@shell", "input": {"cmd": f"echo {number}"}} for number in range(9))
    model = scripted(*steps, loop=True)
    real.spending = Spending(limit=0.045)
    prices = {"input_price": 10.0, "output_price": 0.0}  # a call of the model is a cent
    reply = real.ask(writes=True, settings={**settings(model.url), **prices})
    assert reply.trouble is AgentTrouble.LIMIT
    assert reply.failed == "stopped: the money limit of $0.045 is reached ($0.050 spent)"
    assert len(model.calls) == 5, "the fifth answer reaches the limit, and there is no sixth"
    assert reply.usage.dollars == pytest.approx(0.05)
    assert real.spending.refusal_reason(), "no call begins any more"


@pytest.mark.parametrize("sandbox", [True, False], ids=["walls", "no-walls"])
def test_a_fixer_edits_the_tree(kind, real, scripted, sandbox):
    model = scripted(*fixing(real.tree))
    reply = real.ask(
        writes=True, schema=SCHEMA, sandbox=sandbox, settings=KINDS[kind].settings(model.url)
    )
    assert not reply.failed
    assert json.loads(reply.text) == ANSWER
    assert real.calc == FIXED
    assert real.changed == " M calc.py\n"


def test_a_session_goes_on_is_forked_and_costs_only_what_is_new(kind, real, scripted):
    model = scripted({"text": "noted"})
    settings = KINDS[kind].settings(model.url)
    first = real.ask("Remember the word cornflower.", settings=settings)
    second = real.ask("Which word was it?", session=first.session, settings=settings)
    assert (second.failed, second.session) == ("", first.session)
    fork = real.ask("And backwards?", session=second.session, fork=True, settings=settings)
    assert not fork.failed
    assert fork.session not in ("", second.session)
    asked = [json.dumps(call["body"]) for call in model.calls if "backwards" in call["last_user"]]
    assert "cornflower" in asked[-1]
    assert [reply.usage.input_tokens for reply in (first, second, fork)] == [1000, 1000, 1000]
    assert [reply.usage.dollars for reply in (second, fork)] == pytest.approx(
        [first.usage.dollars] * 2
    )


def test_a_session_that_is_gone_is_begun_anew(kind, real, scripted):
    model = scripted({"text": "hello"})
    agent = real.agent(**KINDS[kind].settings(model.url))
    lost = f"{kind}:0199a213-81c0-7800-8aa1-bbab2a035a53"
    ask = Ask(role="fixer", label="gone", prompt="Go on.", folder=real.tree, session=lost)
    reply = asyncio.run(
        RetryingAgent([agent], AgentRetryPolicy(retries=0)).ask(ask, real.heard.append)
    )
    assert (reply.failed, reply.text, reply.tries) == ("", "hello", 2)
    assert reply.session != lost


def planted(real, kind):
    mark = real.tree / "TRAPPED"
    for name, content in KINDS[kind].traps(mark).items():
        path = real.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return mark


def test_what_a_hostile_repository_sets_up_for_the_agent_does_not_run(kind, real, scripted):
    mark = planted(real, kind)
    model = scripted(*fixing(real.tree))
    reply = real.ask(writes=True, settings=KINDS[kind].settings(model.url))
    assert not reply.failed
    assert real.calc == FIXED
    assert not mark.exists(), mark.read_text()


def test_without_the_guards_the_same_trap_does_run(kind, bench, scripted):
    careless = bench(kind, Careless(KINDS[kind]))
    mark = planted(careless, kind)
    model = scripted(*fixing(careless.tree))
    careless.ask(writes=True, settings=KINDS[kind].settings(model.url))
    assert mark.exists()


@pytest.mark.parametrize("status", TROUBLES)
def test_an_error_of_the_model_is_told_apart(kind, real, scripted, status):
    if status not in KINDS[kind].errors:
        pytest.skip(f"{kind} does not give up on {status} within minutes; the watchdogs end it")
    error = {"status": status, "error": "scripted", "headers": {"retry-after": "1"}}
    model = scripted(rules=[{"name": "error", "steps": [error]}])
    reply = real.ask(settings=KINDS[kind].settings(model.url, silence=150, timeout=200))
    assert (reply.trouble, reply.text) == (TROUBLES[status], "")
    assert str(status) in reply.failed


def test_an_answer_that_talks_of_errors_is_an_answer(kind, real, scripted):
    words = "API Error: 429 rate limit, 401 invalid api key, overloaded"
    reply = real.ask(settings=KINDS[kind].settings(scripted({"text": words}).url))
    assert (reply.failed, reply.text) == ("", words)


def test_a_stream_that_is_cut_is_no_answer(kind, real, scripted):
    model = scripted(rules=[{"name": "cut", "steps": [{"text": "All is well, and", "cut": 2}]}])
    reply = real.ask(settings=KINDS[kind].settings(model.url))
    assert (reply.trouble, reply.text) == (AgentTrouble.CUT, "")


@pytest.mark.parametrize("sandbox", [True, False], ids=["walls", "no-walls"])
def test_an_agent_that_hangs_with_a_tool_running_is_ended_whole(kind, real, scripted, sandbox):
    model = scripted(FOREVER, {"hang": 60})
    settings = KINDS[kind].settings(model.url, silence=KINDS[kind].quiet)
    reply = real.ask(writes=True, sandbox=sandbox, settings=settings)
    assert reply.trouble is AgentTrouble.SILENT
    assert reply.session
    assert model.calls


@pytest.mark.parametrize("deadly", [signal.SIGABRT, signal.SIGKILL])
def test_an_agent_that_crashes_or_is_killed_leaves_nothing_behind(kind, real, scripted, deadly):
    model = scripted({"hang": 60})
    program = real.settings.command[-1].encode()

    async def struck():
        asked = asyncio.create_task(
            real.agent(**KINDS[kind].settings(model.url)).ask(
                Ask(role="fixer", label="struck", prompt="Fix it", folder=real.tree, writes=True),
                real.heard.append,
            )
        )
        await asyncio.to_thread(wait_for, lambda: model.calls, 40)
        victims = [
            pid
            for pid, line in real.processes().items()
            if program in line and b"bwrap" not in line.split(b"\0")[0]
        ]
        os.kill(min(victims), deadly)
        return await asked

    reply = asyncio.run(struck())
    assert reply.trouble is AgentTrouble.CRASHED
    assert reply.failed == f"ended by signal {deadly.value}"


DRIVER = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = {path!r}
import msgspec
from punchlist.adapters.agents.cli_agent import AgentSetup
from punchlist.adapters.agents.home import AgentPlace
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.agents.registry import build_agent
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.ports.agent import Ask
settings = msgspec.json.decode({settings!r}, type=AgentSettings)
place = msgspec.json.decode({place!r}, type=AgentPlace, dec_hook=lambda kind, text: kind(text))
asked = Ask(role="fixer", label="killed", prompt="Fix it", folder=Path({tree!r}), writes=True)
asyncio.run(build_agent(AgentSetup({kind!r}, settings, place, FolderArtifacts(Path({tree!r}).parent / "artifacts"))).ask(asked, print))
"""


@pytest.mark.parametrize("sandbox", [True, False], ids=["walls", "no-walls"])
def test_no_agent_survives_a_punchlist_that_is_killed(kind, real, scripted, sandbox):
    model = scripted(FOREVER, {"hang": 60})
    settings = msgspec.structs.replace(real.settings, **KINDS[kind].settings(model.url))
    place = msgspec.structs.replace(real.place, sandbox=sandbox)
    program = DRIVER.format(
        path=[str(Path(entry)) for entry in sys.path if entry],
        settings=msgspec.json.encode(settings),
        place=msgspec.json.encode(place, enc_hook=str),
        tree=str(real.tree),
        kind=kind,
    )
    punchlist = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
    wait_for(
        lambda: (
            any(b"tail\0-f" in line for line in real.processes().values())
            or punchlist.poll() is not None
        ),
        40,
    )
    assert punchlist.poll() is None
    punchlist.kill()
    punchlist.wait()
    wait_for(lambda: not real.processes(), 5)


def wait_for(true, seconds):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def test_the_key_reaches_the_model_and_no_file_of_ours(kind, real, scripted):
    model = scripted({"tool": "@shell", "input": {"cmd": "env"}}, {"text": f"your key is {KEY}"})
    reply = real.ask(writes=True, settings=KINDS[kind].settings(model.url))
    assert reply.text == "your key is ***"
    headers = model.calls[0]["headers"]
    assert "***" in (headers.get("authorization"), headers.get("x-api-key"))
