"""Any agent that speaks the Agent Client Protocol, played by a small real program; and two real ones against a scripted model."""

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest
import realcli
from hypothesis import given
from hypothesis import strategies as st
from seating import asked, seat, tree
from stubmodel import StubModel

from punchlist.adapters.agents.dialects.acp import AcpAgent, parse_messages
from punchlist.adapters.agents.dialects.acp_client import choose_mode
from punchlist.adapters.agents.json_lines import JsonEvent
from punchlist.adapters.sandbox.support import sandbox_kind
from punchlist.errors import SettingsError
from punchlist.ports.agent import AgentTrouble, Reply

PARROT = Path(__file__).with_name("acp_parrot.py")
OPTIONS = [
    {"optionId": f"o-{kind}", "name": kind, "kind": kind}
    for kind in ("reject_once", "allow_always", "allow_once")
]


class Talk:
    """Asks the parrot, and has what it heard."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tree = folder, tree(folder)
        self.program = folder / "tools" / "parrot.py"
        self.program.parent.mkdir(exist_ok=True)
        shutil.copyfile(PARROT, self.program)
        self.said: list[str] = []

    def ask(self, *turn, settings=None, writes=True, session="", sandbox=True, **plan) -> Reply:
        """The turn's steps, and the rest of the parrot's plan."""
        env = {"PARROT_PLAN": json.dumps({"turn": turn, **plan})}
        agent = AcpAgent(
            seat(
                self.folder,
                command=(sys.executable, str(self.program)),
                env=env,
                sandbox=sandbox,
                **(settings or {}),
            )
        )
        return asked(agent, self.tree, "fix it", self.said, writes=writes, session=session)

    def heard(self, *, method: str = "", number: str = "") -> dict:
        notes = (self.folder / "state/run/agents/one/home/heard.jsonl").read_text().splitlines()
        messages = [json.loads(line) for line in notes]
        return next(
            (
                m
                for m in messages
                if m.get("method") == method or (number and m.get("id") == number)
            ),
            {},
        )


@pytest.fixture
def talk(tmp_path):
    return Talk(tmp_path)


def test_it_is_asked_and_answers_in_pieces(talk):
    usage = {"inputTokens": 1000, "outputTokens": 10}
    cost = {
        "update": {"sessionUpdate": "usage_update", "cost": {"amount": 0.25, "currency": "USD"}}
    }
    reply = talk.ask(
        {"say": "do"},
        {"say": "ne"},
        cost,
        end={"result": {"stopReason": "end_turn", "usage": usage}},
    )
    assert (reply.text, reply.failed, reply.session) == ("done", "", "s-1")
    assert talk.said == ["do", "ne"]
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.dollars) == (
        1000,
        10,
        0.25,
    )
    prompt = talk.heard(method="session/prompt")["params"]
    assert prompt == {"sessionId": "s-1", "prompt": [{"type": "text", "text": "fix it"}]}
    assert talk.heard(method="session/new")["params"] == {
        "cwd": str(talk.tree.resolve()),
        "mcpServers": [],
    }


def test_its_last_word_is_what_it_says_after_its_last_tool_call(talk):
    look = {
        "sessionUpdate": "tool_call",
        "toolCallId": "1",
        "kind": "read",
        "locations": [{"path": str(talk.tree / "calc.py")}],
    }
    reply = talk.ask({"say": "I look."}, {"update": look}, {"noise": "not JSON"}, {"say": "42"})
    assert (reply.text, reply.opened) == ("42", ("calc.py",))


@pytest.mark.parametrize(
    ("writes", "kind", "chosen"),
    [
        (True, "edit", "o-allow_once"),
        (False, "edit", "o-reject_once"),
        (False, "read", "o-allow_once"),
        (False, "", "o-reject_once"),
    ],
)
def test_permissions_are_given_by_what_was_asked_for(talk, writes, kind, chosen):
    params = {"sessionId": "s-1", "toolCall": {"toolCallId": "1", "kind": kind}, "options": OPTIONS}
    talk.ask({"call": "session/request_permission", "params": params}, writes=writes)
    answer = talk.heard(number="mine-0")
    assert answer["result"] == {"outcome": {"outcome": "selected", "optionId": chosen}}


def test_where_there_is_no_fitting_option_the_question_is_cancelled(talk):
    params = {"toolCall": {"kind": "edit"}, "options": [OPTIONS[1]]}
    talk.ask({"call": "session/request_permission", "params": params}, writes=False)
    assert talk.heard(number="mine-0")["result"] == {"outcome": {"outcome": "cancelled"}}


def test_it_reads_and_writes_files_of_the_folder_through_us(talk):
    path = str(talk.tree / "new/deep.py")
    read = {"path": str(talk.tree / "calc.py"), "line": 2, "limit": 1}
    reply = talk.ask(
        {"call": "fs/read_text_file", "params": read},
        {"call": "fs/write_text_file", "params": {"path": path, "content": "x\r\n"}},
    )
    assert talk.heard(number="mine-0")["result"] == {"content": "    return a - b\n"}
    assert Path(path).read_bytes() == b"x\r\n"
    assert reply.opened == ("calc.py",)


def test_names_that_are_no_text_do_not_break_the_talk(talk):
    (talk.tree / "odd").symlink_to(os.fsdecode(b"caf\xe9"))
    reply = talk.ask(
        {"call": "fs/read_text_file", "params": {"path": str(talk.tree / "odd")}},
        {"say": "so be it"},
    )
    assert "error" in talk.heard(number="mine-0")
    assert reply.text == "so be it"


@pytest.mark.parametrize("name", ["../../secret", "/etc/hostname", "link", ".git/config", ""])
@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file"])
def test_files_elsewhere_are_out_of_reach(talk, name, method):
    (talk.folder / "state/secret").write_text("secret")
    (talk.tree / "link").symlink_to(talk.folder / "state/secret")
    (talk.tree / ".git").mkdir()
    (talk.tree / ".git/config").write_text("secret")
    talk.ask({"call": method, "params": {"path": name and str(talk.tree / name), "content": "x"}})
    assert "error" in talk.heard(number="mine-0")
    assert (
        (talk.folder / "state/secret").read_text()
        == (talk.tree / ".git/config").read_text()
        == "secret"
    )


def test_a_reader_writes_nothing_through_us(talk):
    talk.ask(
        {
            "call": "fs/write_text_file",
            "params": {"path": str(talk.tree / "calc.py"), "content": ""},
        },
        writes=False,
    )
    assert "error" in talk.heard(number="mine-0")
    assert "a - b" in (talk.tree / "calc.py").read_text()
    assert (
        talk.heard(method="initialize")["params"]["clientCapabilities"]["fs"]["writeTextFile"]
        is False
    )


def test_what_we_do_not_offer_is_refused_and_the_talk_goes_on(talk):
    reply = talk.ask({"call": "terminal/create", "params": {"command": "ls"}}, {"say": "so be it"})
    assert talk.heard(number="mine-0")["error"]["code"] == -32601
    assert reply.text == "so be it"


def test_a_session_is_gone_on_with_and_its_past_is_not_its_answer(talk):
    reply = talk.ask({"say": "news"}, session="s-1", capabilities={"loadSession": True})
    assert (reply.text, reply.session) == ("news", "s-1")
    assert talk.heard(method="session/load")["params"]["sessionId"] == "s-1"


def test_one_that_cannot_go_on_starts_anew(talk):
    assert talk.ask({"say": "news"}, session="old").session == "s-1"


def test_one_that_lost_the_session_starts_anew(talk):
    reply = talk.ask({"say": "news"}, session="lost", capabilities={"loadSession": True}, lost=True)
    assert (reply.text, reply.session, reply.failed) == ("news", "s-1", "")


def test_what_is_used_may_be_told_with_every_piece(talk):
    piece = {
        "sessionUpdate": "agent_message_chunk",
        "content": {"text": "x"},
        "_meta": {"usage": {"inputTokens": 10, "outputTokens": 1}},
    }
    reply = talk.ask({"update": piece}, {"update": piece})
    assert (reply.text, reply.usage.input_tokens, reply.usage.output_tokens) == ("xx", 20, 2)


def test_a_reader_is_put_into_a_mode_for_readers(talk):
    modes = {"currentModeId": "default", "availableModes": [{"id": "default"}, {"id": "plan"}]}
    assert not talk.ask(writes=False, modes=modes).failed
    assert talk.heard(method="session/set_mode")["params"] == {"sessionId": "s-1", "modeId": "plan"}


ADDRESS = "https://example.org/modes#"


@pytest.mark.parametrize(
    ("current", "there", "writes", "mode"),
    [
        ("agent", ["agent", "read-only"], False, "read-only"),
        ("read-only", ["read-only", "agent"], True, "agent"),
        (f"{ADDRESS}agent", [f"{ADDRESS}agent", f"{ADDRESS}plan"], False, f"{ADDRESS}plan"),
        ("default", ["default", "plan"], True, ""),
        ("x", ["x", "y"], False, ""),
        ("plan", ["plan"], True, ""),
    ],
)
def test_the_mode_fits_what_was_asked_for(current, there, writes, mode):
    modes = {
        "modes": {"currentModeId": current, "availableModes": [{"id": name} for name in there]}
    }
    assert choose_mode(JsonEvent(modes), writes=writes) == ({"modeId": mode} if mode else {})
    option = {
        "id": "m",
        "category": "mode",
        "currentValue": current,
        "options": [{"value": name} for name in there],
    }
    other = {**option, "category": "model"}
    wanted = {"configId": "m", "value": mode} if mode else {}
    assert choose_mode(JsonEvent({"configOptions": [other, option]}), writes=writes) == wanted


@pytest.mark.parametrize(
    ("end", "trouble", "said"),
    [
        (
            {
                "error": {
                    "code": -32603,
                    "message": "Internal error",
                    "data": {"details": "HTTP status 429"},
                }
            },
            AgentTrouble.RATE_LIMIT,
            "429",
        ),
        (
            {"error": {"code": -32000, "message": "Authentication required"}},
            AgentTrouble.AUTH,
            "Authentication",
        ),
        (
            {"error": {"code": -32603, "message": "overloaded, try again in 9 s"}},
            AgentTrouble.OVERLOADED,
            "9 s",
        ),
        ({"result": {"stopReason": "max_tokens"}}, AgentTrouble.LIMIT, "max_tokens"),
        ({"result": {"stopReason": "refusal"}}, AgentTrouble.OTHER, "refusal"),
        ({"result": {}}, AgentTrouble.OTHER, "it stopped"),
    ],
)
def test_a_turn_that_does_not_end_well_is_a_failure(talk, end, trouble, said):
    reply = talk.ask({"say": "rate limit 401"}, end=end)
    assert reply.trouble is trouble
    assert said in reply.failed
    assert reply.session == "s-1"


def test_one_that_dies_is_cut_and_says_why(talk):
    reply = talk.ask({"say": "half a"}, {"die": 3})
    assert (reply.trouble, reply.failed) == (AgentTrouble.CUT, "parrot: dying")


def test_when_time_is_nearly_up_it_is_told_to_stop(talk):
    reply = talk.ask(
        {"until": "session/cancel"},
        end={"result": {"stopReason": "cancelled"}},
        settings={"timeout": 2},
    )
    assert (reply.trouble, reply.session) == (AgentTrouble.TIMEOUT, "s-1")
    assert talk.heard(method="session/cancel")["params"] == {"sessionId": "s-1"}


@pytest.mark.parametrize("plan", [{"deaf": True}, {"turn": [{"sleep": 60}]}])
@pytest.mark.parametrize(
    ("settings", "trouble"),
    [({"timeout": 0.7}, AgentTrouble.TIMEOUT), ({"silence": 0.7}, AgentTrouble.SILENT)],
    ids=["time", "silence"],
)
def test_one_that_hangs_is_ended(talk, plan, settings, trouble):
    before = time.monotonic()
    assert talk.ask(settings=settings, **plan).trouble is trouble
    assert time.monotonic() - before < 15


def test_one_that_does_not_go_after_its_answer_is_ended_and_its_answer_counts(talk):
    before = time.monotonic()
    assert talk.ask({"say": "done"}, linger=60).text == "done"
    assert time.monotonic() - before < 15


def test_settings_for_agents_in_the_repository_are_hidden_or_the_agent_is_not_started(talk):
    (talk.tree / ".claude").mkdir()
    (talk.tree / ".claude/settings.json").write_text("{}")
    if sandbox_kind() == "bubblewrap":
        look = f"import os; print(os.listdir({str(talk.tree / '.claude')!r}))"
        talk.program.write_text(f"{look}\n{PARROT.read_text()}")
        reply = talk.ask({"say": "done"})
        assert reply.text == "done"
        assert (talk.folder / "state/run" / reply.transcript).read_text().startswith("[]\n")
    reply = talk.ask({"say": "done"}, sandbox=False)
    assert "it would do what .claude says" in reply.failed


def test_without_a_command_there_is_nobody_to_talk_to(tmp_path):
    with pytest.raises(SettingsError, match=r"agent\.mine\.command"):
        AcpAgent(seat(tmp_path, "mine"))


words = st.sampled_from(
    [
        "jsonrpc",
        "id",
        "method",
        "result",
        "error",
        "params",
        "update",
        "sessionUpdate",
        "content",
        "text",
        "locations",
        "stopReason",
    ]
)
names = st.sampled_from(
    [
        "session/update",
        "agent_message_chunk",
        "tool_call",
        "usage_update",
        "fs/read_text_file",
        "end_turn",
    ]
)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(0, 5)
    | st.floats(allow_nan=False)
    | names
    | st.text(max_size=5)
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=5),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(words, values).map(json.dumps) | st.text(max_size=20), max_size=8))
def test_whatever_it_writes_is_read(lines):
    answer = parse_messages("\n".join(lines).encode(errors="replace"))
    assert bool(answer.failed) == (answer.trouble is not None)


REAL = {"gemini": ("--acp", "--skip-trust", "-m", "gemini-2.5-pro"), "opencode": ("acp",)}
GEMINI = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
}


def environment(kind: str, url: str) -> dict[str, str]:
    models = {
        "stub": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{url}/v1", "apiKey": "x"},
            "models": {"m": {}},
        }
    }
    quiet = dict.fromkeys(("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH"), "1")
    config = {
        "provider": models,
        "model": "stub/m",
        "small_model": "stub/m",
        "autoupdate": False,
        "share": "disabled",
    }
    return {
        "gemini": {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_NO_RELAUNCH": "true"},
        "opencode": {
            "OPENCODE_CONFIG_CONTENT": json.dumps(config),
            "npm_config_registry": "http://127.0.0.1:9/",
            **quiet,
        },
    }[kind]


def planted(folder: Path, ran: Path) -> None:
    """Hooks, servers and plugins where a repository can have them for these agents; each notes that it was run."""
    note = ["sh", "-c", f"echo ran >> {ran}"]
    hook = {"matcher": "*", "hooks": [{"type": "command", "command": f"echo ran >> {ran}"}]}
    server = {"command": note[0], "args": note[1:]}
    hostile = {
        ".gemini/settings.json": {
            "hooks": {"SessionStart": [hook]},
            "mcpServers": {"evil": server},
        },
        "opencode.json": {
            "mcp": {"evil": {"type": "local", "command": note, "enabled": True}},
            "plugin": ["./evil.js"],
        },
    }
    for name, content in hostile.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    plugin = f'require("fs").appendFileSync("{ran}", "plugin");\nexport const Evil = async () => ({{}});\n'
    (folder / ".opencode/plugin").mkdir(parents=True)
    (folder / ".opencode/plugin/evil.js").write_text(plugin)
    (folder / "evil.js").write_text(plugin)


@pytest.mark.skipif(sandbox_kind() != "bubblewrap", reason="needs bubblewrap")
@pytest.mark.parametrize("kind", REAL)
@pytest.mark.parametrize("writes", [True, False], ids=["fixer", "reader"])
def test_a_real_one_edits_only_where_it_may(tmp_path, monkeypatch, kind, writes):
    command = realcli.command(kind)
    monkeypatch.setenv("GEMINI_API_KEY", "sk-dummy-0123456789abcdef")
    folder = tree(tmp_path)
    ran = seat(tmp_path, kind).place.make_tmp(kind) / "ran"
    planted(folder, ran)
    path = str(folder / "calc.py")
    edit = {"path": path, "old": "    return a - b", "new": "    return a + b"}
    steps = [
        {"tool": "@read", "input": {"path": path}},
        {"tool": "@edit", "input": edit},
        {"json": {"verdict": "fixed"}},
    ]
    rules = [{"match": {"has_tools": True}, "steps": steps}, {"steps": [{"text": "t"}]}]
    (tmp_path / "user/.gemini").mkdir(parents=True)
    (tmp_path / "user/.gemini/settings.json").write_text(json.dumps(GEMINI))
    with StubModel({"rules": rules}) as model:
        settings = {
            "env": environment(kind, model.url),
            "login": (".gemini/settings.json",),
            "timeout": 90,
            "silence": 60,
        }
        agent = AcpAgent(seat(tmp_path, kind, command=(*command, *REAL[kind]), **settings))
        reply = asked(agent, folder, "Fix add() in calc.py", writes=writes)
        again = asked(
            agent, folder, "And again", writes=writes, session=reply.session, label="fix/2"
        )
    assert (reply.text, reply.failed, reply.opened) == ('{"verdict": "fixed"}', "", ("calc.py",))
    assert reply.usage.input_tokens >= 1000
    assert again.failed == ""
    assert not ran.exists()
    assert ("a + b" if writes else "a - b") in (folder / "calc.py").read_text()
