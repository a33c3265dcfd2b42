"""What agents print is read without trust: real samples are understood, and nothing that can be printed breaks a reader."""

import json
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from calculator import ANSWER, SCHEMA
from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.dialect import CallContext, ParsedReply
from punchlist.adapters.agents.dialects.claude import Claude
from punchlist.adapters.agents.dialects.codex import Codex, is_strict
from punchlist.adapters.agents.dialects.copilot import Copilot
from punchlist.adapters.agents.dialects.gemini import Gemini
from punchlist.adapters.agents.dialects.opencode import Opencode
from punchlist.adapters.agents.dialects.qwen import Qwen
from punchlist.adapters.agents.json_lines import JsonEvent, LineBuffer, parse_event, parse_events
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.process.run import ProcessResult
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask

DATA = Path(__file__).parents[2] / "data" / "agents"
SAMPLES = {path.stem: path.read_bytes() for path in sorted(DATA.glob("*.jsonl"))}
DIALECTS = {"claude": Claude(), "codex": Codex(), "qwen": Qwen()}
ASK = Ask(role="fixer", label="fix/1", prompt="Fix it", folder=Path("/tree"), schema=SCHEMA)


def ran(stdout=b"", exit_code=0, stderr=b""):
    return ProcessResult(
        command=("agent",), exit_code=exit_code, stdout=stdout, stderr=stderr, seconds=1
    )


def told(dialect, *printed, exit_code=0, stderr=b"", ask=ASK):
    return DIALECTS[dialect].parse_output(
        ran(b"\n".join(json.dumps(line).encode() for line in printed), exit_code, stderr), ask
    )


def test_a_real_session_of_claude_is_understood():
    read = Claude().parse_output(ran(SAMPLES["claude-fix"]), ASK)
    assert (json.loads(read.text), read.failed, read.trouble) == (ANSWER, "", None)
    assert read.usage == Usage(input_tokens=4000, output_tokens=400, dollars=0.024)
    assert read.opened == ("/tree/calc.py", "/tree/calc.py")
    said = [Claude().describe_event(found) for found in parse_events(SAMPLES["claude-fix"])]
    assert [words for words in said if words] == [
        "Reading.",
        "Read /tree/calc.py",
        "Edit /tree/calc.py",
        "Bash git diff --stat",
        "StructuredOutput",
    ]


def test_a_real_session_of_codex_is_understood():
    read = Codex().parse_output(ran(SAMPLES["codex-fix"]), ASK)
    assert (json.loads(read.text), read.failed, read.trouble) == (ANSWER, "", None)
    assert read.usage == Usage(input_tokens=4000, output_tokens=400)
    assert set(read.opened) == {"/tree/calc.py"}
    said = [Codex().describe_event(found) for found in parse_events(SAMPLES["codex-fix"])]
    assert "edited /tree/calc.py" in said
    assert "Reading." in said


@pytest.mark.parametrize("kind", ["claude", "codex"])
def test_a_real_refusal_of_the_key_is_understood(kind):
    read = DIALECTS[kind].parse_output(ran(SAMPLES[f"{kind}-denied"], exit_code=1), ASK)
    assert (read.trouble, read.text) == (AgentTrouble.AUTH, "")
    assert "401" in read.failed
    assert read.session


DENIED = {
    "claude": [
        {
            "type": "result", "subtype": "success", "is_error": False, "result": "x",
            "permission_denials": [
                {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "rm\n -r x"}},
                {"tool_name": "Edit", "tool_use_id": "u", "tool_input": {"file_path": "a.py"}},
            ],
        },
    ],
    "codex": [
        {"type": "thread.started", "thread_id": "s"},
        {"type": "item.completed", "item": {"type": "command_execution", "command": "rm -r x", "status": "declined"}},
        {"type": "turn.completed", "usage": {}},
    ],
    "gemini": [
        {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "t", "parameters": {"command": "rm -r x"}},
        {"type": "tool_result", "tool_id": "t", "status": "error", "output": "Tool execution denied by policy."},
        {"type": "result", "status": "success"},
    ],
    "opencode": [
        {"type": "tool_use", "part": {"tool": "bash", "state": {"status": "error", "input": {"command": "rm -r x"}, "error": "The user rejected permission to use this specific tool call."}}},
        {"type": "step_finish", "part": {"reason": "stop"}},
    ],
    "copilot": [
        {"type": "tool.execution_start", "data": {"toolCallId": "t", "toolName": "bash", "arguments": {"command": "rm -r x"}}},
        {"type": "tool.execution_complete", "data": {"toolCallId": "t", "success": False, "error": {"message": "The user rejected this tool call."}}},
        {"type": "result", "exitCode": 0},
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", DENIED)
def test_tool_calls_that_the_program_refused_are_told(kind):
    out = "\n".join(map(json.dumps, DENIED[kind])).encode()
    others = {"copilot": Copilot(), "gemini": Gemini(), "opencode": Opencode()}
    read = {**DIALECTS, **others}[kind].parse_output(ran(out), ASK)
    assert read.denied[0].endswith("rm -r x")
    assert len(read.denied) == (2 if kind == "claude" else 1)


RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "session_id": "s",
    "result": "words",
}


@pytest.mark.parametrize(
    ("changes", "exit_code", "trouble"),
    [
        ({}, 0, None),
        ({}, 1, AgentTrouble.CRASHED),
        (
            {"is_error": True, "api_error_status": 429, "result": "slow down"},
            1,
            AgentTrouble.RATE_LIMIT,
        ),
        ({"is_error": True, "api_error_status": 529, "result": "busy"}, 1, AgentTrouble.OVERLOADED),
        ({"is_error": True, "result": "Not logged in · Please run /login"}, 1, AgentTrouble.AUTH),
        ({"is_error": True, "result": "Prompt is too long"}, 1, AgentTrouble.TOO_LONG),
        ({"is_error": True, "subtype": "error_max_turns"}, 1, AgentTrouble.LIMIT),
        ({"is_error": True, "subtype": "error_max_budget_usd"}, 1, AgentTrouble.LIMIT),
        (
            {"is_error": True, "subtype": "error_max_structured_output_retries", "errors": ["no"]},
            1,
            AgentTrouble.OTHER,
        ),
        ({"is_error": True}, 0, AgentTrouble.OTHER),
        ({"subtype": "error_during_execution"}, 0, AgentTrouble.OTHER),
        ({"subtype": None}, 0, AgentTrouble.OTHER),
    ],
)
def test_claude_s_result_decides_and_not_its_exit_code(changes, exit_code, trouble):
    read = told("claude", {**RESULT, **changes}, exit_code=exit_code)
    assert read.trouble is trouble
    assert bool(read.failed) == (trouble is not None)
    assert read.text == ("words" if trouble is None else "")


def test_the_last_result_counts_and_a_structured_answer_goes_before_words():
    first, last = (
        {**RESULT, "structured_output": {"a": 1}},
        {**RESULT, "structured_output": {"a": 2}},
    )
    assert told("claude", first, last).text == '{"a":2}'
    assert told("qwen", {**RESULT, "structured_result": {"a": 3}}).text == '{"a":3}'
    assert (
        told("claude", first, ask=Ask(role="r", label="l", prompt="p", folder=Path("/"))).text
        == "words"
    )


def test_tokens_of_subagents_and_of_the_cache_are_counted():
    model = {
        "inputTokens": 10,
        "cacheReadInputTokens": 5,
        "cacheCreationInputTokens": 2,
        "outputTokens": 3,
    }
    usage = {"input_tokens": 10, "output_tokens": 3}
    whole = {
        **RESULT,
        "usage": usage,
        "modelUsage": {"big": model, "small": model},
        "total_cost_usd": 0.5,
    }
    assert told("claude", whole).usage == Usage(input_tokens=34, output_tokens=6, dollars=0.5)
    assert told("qwen", {**RESULT, "usage": usage}).usage == Usage(input_tokens=10, output_tokens=3)


def test_a_file_whose_tool_was_refused_was_not_opened():
    def use(name, path):
        return {
            "type": "assistant",
            "message": {
                "content": [{"type": "tool_use", "id": name, "input": {"file_path": path}}]
            },
        }

    def result(name, **more):
        return {
            "type": "user",
            "message": {"content": [{"type": "tool_result", "tool_use_id": name, **more}]},
        }

    printed = [
        use("1", "a.py"),
        result("1"),
        use("2", "b.py"),
        result("2", is_error=True),
        use("3", "c.py"),
    ]
    assert told("claude", *printed, RESULT).opened == ("a.py",)


def test_codex_is_done_when_its_turn_is_and_a_retry_is_not_the_end():
    begun = {"type": "thread.started", "thread_id": "t"}
    retry = {"type": "error", "message": "Reconnecting... 1/5 (unexpected status 401 Unauthorized)"}
    word = {"type": "item.completed", "item": {"type": "agent_message", "text": "done"}}
    done = {"type": "turn.completed", "usage": {"input_tokens": 1}}
    failed = {
        "type": "turn.failed",
        "error": {"message": "exceeded retry limit, last status: 429 Too Many Requests"},
    }
    assert told("codex", begun, retry, word, done) == ParsedReply(
        text="done", session="t", usage=Usage(input_tokens=1)
    )
    assert told("codex", begun, word).trouble is AgentTrouble.CUT
    assert told("codex", begun, word, failed, exit_code=1).trouble is AgentTrouble.RATE_LIMIT
    assert told("codex", begun, word, done, exit_code=1).failed


@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_a_result_the_error_channel_is_asked_and_never_the_answer(dialect):
    said = {
        "type": "assistant",
        "message": {"content": [{"type": "text", "text": "429 rate limit"}]},
    }
    assert told(dialect, said).trouble is AgentTrouble.CUT
    assert (
        told(dialect, said, exit_code=1, stderr=b"error: unknown option '--restricted'").trouble
        is AgentTrouble.CRASHED
    )
    assert told(dialect, said, exit_code=1, stderr=b"HTTP 429").trouble is AgentTrouble.RATE_LIMIT


@pytest.mark.parametrize(
    ("message", "trouble"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", AgentTrouble.RATE_LIMIT),
        ("unexpected status 529 <unknown status code>: overloaded", AgentTrouble.OVERLOADED),
        ("API Error: 401 bad key", AgentTrouble.AUTH),
        ("Failed to authenticate", AgentTrouble.AUTH),
        ("stream disconnected before completion", AgentTrouble.CUT),
        ("API Error: Connection dropped (ECONNRESET)", AgentTrouble.CUT),
        ("Resource exhausted, please try again later", AgentTrouble.RATE_LIMIT),
        ("prompt is too long: 300000 tokens > 200000 maximum", AgentTrouble.TOO_LONG),
        ("We are currently experiencing high demand", AgentTrouble.OVERLOADED),
        ("no such file", AgentTrouble.OTHER),
    ],
)
def test_error_messages_are_told_apart(message, trouble):
    assert troubles.classify_error(message) is trouble


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("please try again in 20s", 20),
        ("Retry after 1.5 seconds", 1.5),
        ("try again in 200ms", 0.2),
        ("try again in 2 min", 120),
        ("no", 0),
    ],
)
def test_a_wait_that_is_told_is_understood(message, seconds):
    assert troubles.parse_retry_delay(message) == pytest.approx(seconds)


def desk(**options):
    return CallContext(
        home=Path("/home"),
        tmp=Path("/tmp"),
        settings=AgentSettings(**options),
        key="OPENAI_API_KEY",
        base_url="http://there/v1",
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_prompt_goes_to_the_standard_input_whatever_it_says(dialect):
    ask = Ask(
        role="fixer",
        label="l",
        prompt="--help\n$(rm -rf /)",
        folder=Path("/tree"),
        session="s1",
        fork=True,
    )
    call = DIALECTS[dialect].build_call(ask, desk(model="m1", effort="high"))
    assert call.stdin == ask.prompt
    assert "--help" not in call.arguments
    assert {"m1", "s1"} <= set(call.arguments)


def test_codex_gets_a_schema_only_if_the_api_would_take_it():
    loose = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert is_strict(SCHEMA)
    assert not is_strict(loose)
    assert not is_strict({"type": "array", "items": loose})
    assert not is_strict(
        {**SCHEMA, "properties": {**SCHEMA["properties"], "files": {"type": "object"}}}
    )
    call = Codex().build_call(ASK, desk())
    assert [json.loads(text) for text in call.files.values()] == [SCHEMA]
    assert call.arguments[-1] == "-"
    assert 'model_providers.named.base_url="http://there/v1"' in call.arguments


@pytest.mark.parametrize(
    ("command", "read"),
    [
        ("/bin/bash -lc 'cat src/a.py'", ["src/a.py"]),
        (
            "bash -lc \"sed -n '1,200p' src/a.py && nl -ba b.py | head -5\"",
            ["1,200p", "src/a.py", "b.py"],
        ),
        ("python run.py", []),
        ("bash -lc 'cat \"unclosed'", []),
    ],
)
def test_files_that_codex_reads_with_a_shell_are_noticed(command, read):
    item = {"type": "item.completed", "item": {"type": "command_execution", "command": command}}
    assert list(told("codex", item).opened) == read


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
NAMES = st.sampled_from(
    "type subtype result is_error usage message content item text error errors session_id input_tokens changes path command input name".split()
)
TYPES = st.sampled_from(
    "result assistant item.completed turn.completed turn.failed thread.started error system".split()
)
VALUES = st.recursive(
    LEAVES | TYPES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
LINES = st.dictionaries(NAMES, VALUES, max_size=6).map(
    lambda value: json.dumps(value).encode()
) | st.binary(max_size=40)


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=60, deadline=None)
@given(st.lists(LINES, max_size=6), st.integers(0, 200) | st.none(), st.binary(max_size=60))
def test_nothing_that_is_printed_breaks_a_reader(dialect, lines, exit_code, stderr):
    output = b"\n".join(lines)
    read = DIALECTS[dialect].parse_output(ran(output, exit_code, stderr), ASK)
    assert isinstance(read, ParsedReply)
    assert read.text == "" or not read.failed
    for found in parse_events(output):
        assert isinstance(DIALECTS[dialect].describe_event(found), str)


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_damaged_sample_is_read_or_refused_and_never_breaks(name, data):
    sample = bytearray(SAMPLES[name])
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(sample)))
        length = data.draw(st.integers(0, 200))
        sample[at : at + length] = data.draw(st.binary(max_size=6))
    for dialect in DIALECTS.values():
        assert isinstance(dialect.parse_output(ran(bytes(sample)), ASK), ParsedReply)


def spent(read) -> float:
    """Processor time, the least of three: a busy machine must not look like a slow reader."""
    times = []
    for _ in range(3):
        before = time.process_time()
        read()
        times.append(time.process_time() - before)
    return max(min(times), 0.001)


@pytest.mark.parametrize(
    "read",
    [
        lambda n: Claude().parse_output(
            ran(b'{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]}}\n' * n),
            ASK,
        ),
        lambda n: Codex().parse_output(
            ran(
                b'{"type":"item.completed","item":{"type":"command_execution","command":"'
                + b"cat a " * (20 * n)
                + b'"}}'
            ),
            ASK,
        ),
        lambda n: troubles.classify_error("error " * (40 * n)),
        lambda n: parse_event(b"[" * (40 * n)),
        lambda n: parse_event(b'{"a":' * n),
    ],
    ids=["lines", "a long command", "a long error", "brackets", "objects"],
)
def test_a_flood_of_eight_times_the_size_takes_nothing_like_sixty_four_times_as_long(read):
    assert spent(lambda: read(40_000)) < 24 * spent(lambda: read(5_000)) + 0.05


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=8))
def test_pieces_make_the_lines_that_the_whole_has(output, cuts):
    lines, places = (
        LineBuffer(),
        sorted({0, len(output), *(cut for cut in cuts if cut < len(output))}),
    )
    heard = [line for start, end in pairwise(places) for line in lines.feed(output[start:end])]
    assert heard == output.split(b"\n")[:-1]


def test_a_line_without_an_end_is_not_kept_and_those_after_it_are_heard():
    lines, piece = LineBuffer(), b"x" * (8 << 20)
    tracemalloc.start()
    assert [line for _ in range(16) for line in lines.feed(bytes(piece))] == []
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1 << 20
    assert lines.feed(b"the end of it\nnext\nbegun") == [b"", b"next"]
    assert lines.feed(b"\n") == [b"begun"]


def test_values_of_any_shape_read_as_empty():
    odd = JsonEvent({"a": [1], "n": True, "big": 1e300, "nan": float("nan")})
    assert (
        odd.text("a"),
        odd.text("a", "b"),
        odd.number("n"),
        odd.number("big"),
        odd.number("nan"),
        odd.items("n"),
    ) == ("", "", 0, 0, 0, [])
    assert not parse_event(b"not json").has()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (rb'{"a": "cut \ud83d"}', "cut \ufffd"),
        (rb'{"a": "\udE00 cut"}', "\ufffd cut"),
        (rb'{"a": "whole \ud83d\ude00"}', "whole \U0001f600"),
        (b'{"a": "odd \xff"}', "odd \ufffd"),
    ],
)
def test_half_a_character_costs_a_letter_and_not_the_line(line, text):
    assert parse_event(line).text("a") == text
