"""No real agent asks its model once more when the limit is reached, whatever the machine is busy with."""

import json

import pytest
from calculator import KEY
from realkinds import KINDS

from needs import rarely
from punchlist.adapters.agents.dialect import Unmetered
from punchlist.adapters.agents.dialects.copilot import Copilot
from punchlist.adapters.agents.dialects.gemini import Gemini
from punchlist.adapters.agents.dialects.opencode import Opencode
from punchlist.adapters.agents.spending import Spending
from punchlist.ports.agent import AgentTrouble

CENT = {"input_price": 10.0, "output_price": 0.0}
"""What a call of the scripted model costs: it reads 1,000 tokens."""


def gemini(url):
    return {"env": {"GOOGLE_GEMINI_BASE_URL": url}, "model": "gemini-2.5-pro"}


def copilot(url):
    return {"env": {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1"}, "model": "gpt-5.4"}


def opencode(url):
    options = {"baseURL": f"{url}/v1", "apiKey": KEY}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"m1": {}}}
    config = {"provider": {"stub": provider}, "small_model": "stub/m1"}
    return {"env": {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}, "model": "stub/m1"}


AGENTS = {
    **{name: (kind.dialect, kind.settings) for name, kind in KINDS.items()},
    "gemini": (Gemini(), gemini),
    "copilot": (Copilot(), copilot),
    "opencode": (Opencode(), opencode),
}


class Unheard(Unmetered):
    """A dialect whose output is not looked at while the agent works: the proxy is alone."""

    def __init__(self, dialect):
        self._dialect = dialect

    def __getattr__(self, name):
        return getattr(self._dialect, name)


def never_stopping(scripted):
    # Not twice the same call: some programs stop by themselves then.
    steps = ({"tool": "@shell", "input": {"cmd": f"echo {number}"}} for number in range(9))
    return scripted(*steps, loop=True)


@pytest.mark.parametrize("heard", [True, False], ids=["heard", "unheard"])
@pytest.mark.parametrize(
    "kind", ["claude", "codex", *rarely("qwen", "gemini", "copilot", "opencode")]
)
def test_a_model_that_never_stops_calling_tools_is_stopped_at_the_limit(
    kind, heard, bench, scripted
):
    dialect, settings = AGENTS[kind]
    real = bench(kind, dialect if heard else Unheard(dialect))
    model = never_stopping(scripted)
    real.spending = Spending(limit=0.045)
    reply = real.ask(writes=True, settings={**settings(model.url), **CENT})
    assert reply.trouble is AgentTrouble.LIMIT
    assert reply.failed == "stopped: the money limit of $0.045 is reached ($0.050 spent)"
    assert len(model.calls) == 5, "the fifth answer reaches the limit, and there is no sixth"
    assert reply.usage.dollars == pytest.approx(0.05)
    assert real.spending.refusal_reason()
