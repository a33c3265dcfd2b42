"""What a call of an agent may reach, and which keys it does not get: planned from its dialect and the user's settings."""

import json

import pytest

from punchlist.adapters.agents.dialects.acp import Acp
from punchlist.adapters.agents.dialects.aider import Aider
from punchlist.adapters.agents.dialects.claude import Claude
from punchlist.adapters.agents.dialects.codex import Codex
from punchlist.adapters.agents.dialects.copilot import Copilot
from punchlist.adapters.agents.dialects.gemini import Gemini
from punchlist.adapters.agents.dialects.opencode import Opencode
from punchlist.adapters.agents.dialects.qwen import Qwen
from punchlist.adapters.agents.network import plan_network
from punchlist.adapters.agents.settings import AgentSettings

PROXY = "http://127.0.0.1:3128"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


def plan(dialect, given, shared=(), **settings):
    return plan_network(dialect.access, dialect.keys, AgentSettings(**settings), given, shared)


def rules(made):
    return [str(rule) for rule in made.policy.rules]


def routes(made):
    """By prefix: the service, and the keys that it can be asked with."""
    found = sorted(made.policy.routes, key=lambda route: route.prefix)
    return {
        each.prefix: (f"{each.base.scheme}://{each.base.host}{each.base.path}", *each.keys.values())
        for each in found
    }


@pytest.mark.parametrize(
    ("dialect", "key", "url", "service"),
    [
        (Claude(), "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
        (Claude(), "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
        (Claude(), "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
        (Codex(), "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"),
        (
            Gemini(),
            "GEMINI_API_KEY",
            "GOOGLE_GEMINI_BASE_URL",
            "https://generativelanguage.googleapis.com",
        ),
        (Qwen(), "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"),
        (Aider(), "ANTHROPIC_API_KEY", "ANTHROPIC_API_BASE", "https://api.anthropic.com"),
    ],
)
def test_with_a_key_an_agent_asks_the_proxy_which_holds_it_and_reaches_no_host(
    dialect, key, url, service
):
    made = plan(dialect, {key: "sk-canary"})
    (found,) = routes(made).values()
    assert found == (service, "sk-canary")
    assert made.env[url] == PROXY + ("/v1" if service.endswith("/v1") else "")
    assert made.held == (key,)
    assert "sk-canary" not in json.dumps(made.env)
    assert made.env[key] in made.policy.routes[0].keys
    assert rules(made) == []
    assert not made.policy.routes[0].base.rule.inside
    assert "sk-canary" not in repr(made)


def test_a_key_is_for_its_own_service_only():
    made = plan(Aider(), {"OPENAI_API_KEY": "sk-one", "ANTHROPIC_API_KEY": "sk-two"})
    assert routes(made) == {
        "/1": ("https://api.anthropic.com", "sk-two"),
        "/v1": ("https://api.openai.com/v1", "sk-one"),
    }


def test_an_own_base_url_is_the_service_and_may_be_inside():
    env = {"ANTHROPIC_API_KEY": "sk-canary", "ANTHROPIC_BASE_URL": "http://llm.corp:8080/a/"}
    made = plan(Claude(), env)
    assert routes(made) == {"/a": ("http://llm.corp/a", "sk-canary")}
    assert made.env["ANTHROPIC_BASE_URL"] == f"{PROXY}/a"
    assert made.policy.routes[0].base.rule.inside
    assert rules(made) == []


def test_without_a_key_the_hosts_of_its_login_are_reached():
    assert "chatgpt.com:443" in rules(plan(Codex(), {}))
    assert "*.githubcopilot.com:443" in rules(plan(Copilot(), {"COPILOT_GITHUB_TOKEN": "t"}))
    assert rules(plan(Acp(), {"ANTHROPIC_API_KEY": "k"}))[0] == "api.anthropic.com:443"


def test_an_agent_that_is_given_its_key_reaches_its_model_s_host():
    made = plan(Claude(), {"ANTHROPIC_API_KEY": "sk-canary"}, keyless=False)
    assert (made.policy.routes, made.held) == ((), ())
    assert rules(made)[0] == "api.anthropic.com:443"
    assert "ANTHROPIC_API_KEY" not in made.env


def test_hosts_come_from_the_user_s_lists_and_urls_but_not_from_proxies():
    env = {
        "DOCS_URL": "https://docs.corp/x",
        "HTTPS_PROXY": "http://ada:pw@proxy.corp:8080",
        "NO_PROXY": ".corp, x.example",
    }
    made = plan(Acp(), env, ("a.example",), env=env, hosts=("b.example:80",))
    assert rules(made)[:3] == ["a.example:443", "b.example:80", "docs.corp:443"]
    assert not [rule for rule in rules(made) if "proxy.corp" in rule]
    assert (made.policy.proxy, made.policy.direct) == (env["HTTPS_PROXY"], (".corp", "x.example"))
    assert (made.env["HTTPS_PROXY"], "pw" in repr(made)) == (PROXY, False)


def test_opencode_s_providers_are_redirected_each_with_its_own_key():
    config = {
        "provider": {
            "house": {"options": {"baseURL": "http://127.0.0.1:9/v1", "apiKey": "sk-house"}},
            "other": {
                "options": {"baseURL": "https://other.example/v1", "apiKey": "{env:OTHER_KEY}"}
            },
        },
        "model": "house/m1",
    }
    env = {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "ANTHROPIC_API_KEY": "sk-ant",
        "OTHER_KEY": "sk-other",
    }
    made = plan(Opencode(), env)
    assert routes(made) == {
        "/1/v1": ("https://other.example/v1", "sk-other"),
        "/2/v1": ("https://api.anthropic.com/v1", "sk-ant"),
        "/v1": ("http://127.0.0.1/v1", "sk-house"),
    }
    told = json.loads(made.env["OPENCODE_CONFIG_CONTENT"])
    assert told["model"] == "house/m1"
    assert told["provider"]["other"]["options"] == {
        "baseURL": f"{PROXY}/1/v1",
        "apiKey": "{env:OTHER_KEY}",
    }
    assert "sk-" not in json.dumps(made.env)


def test_a_configuration_that_cannot_be_read_is_left_as_it_is():
    made = plan(
        Opencode(), {"OPENCODE_CONFIG_CONTENT": "{ // mine\n}", "ANTHROPIC_API_KEY": "sk-ant"}
    )
    assert "OPENCODE_CONFIG_CONTENT" not in made.env
    assert made.held == ()
    assert "api.anthropic.com:443" in rules(made)
