"""The scripted model speaks the four languages that the agents speak."""

import json
import urllib.error
import urllib.request

import pytest
import stub_tools
from stubmodel import StubModel

SLOW_DOWN = {"status": 429, "error": "slow down", "headers": {"retry-after": "1"}}
SCENARIO = {
    "rules": [
        {
            "name": "err",
            "match": {"any_text": "ERR429"},
            "advance": "calls",
            "steps": [SLOW_DOWN, {"text": "ok"}],
        },
        {"name": "main", "steps": [{"tool": "@shell", "input": {"cmd": "ls"}}, {"json": {"v": 1}}]},
    ]
}
SHELL = {"type": "object", "properties": {"command": {"type": "string"}}}


@pytest.fixture
def stub():
    with StubModel(SCENARIO) as model:
        yield model


def post(stub, path, body):
    headers = {"content-type": "application/json", "x-api-key": "secret"}
    request = urllib.request.Request(
        stub.url + path, data=json.dumps(body).encode(), headers=headers
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def streamed(text):
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def test_it_speaks_anthropic(stub):
    tools, messages = [{"name": "Bash", "input_schema": SHELL}], [{"role": "user", "content": "go"}]
    first = json.loads(
        post(stub, "/v1/messages", {"model": "m", "messages": messages, "tools": tools})
    )
    assert (first["stop_reason"], first["content"][0]["name"]) == ("tool_use", "Bash")
    result = {"type": "tool_result", "tool_use_id": first["content"][0]["id"], "content": "x"}
    messages += [
        {"role": "assistant", "content": first["content"]},
        {"role": "user", "content": [result]},
    ]
    body = {"model": "m", "messages": messages, "tools": tools, "stream": True}
    kinds = [event["type"] for event in streamed(post(stub, "/v1/messages?beta=true", body))]
    assert (
        kinds
        == "message_start ping content_block_start content_block_delta content_block_stop message_delta message_stop".split()
    )
    assert "input_tokens" in post(stub, "/v1/messages/count_tokens", {"messages": messages})


def test_it_speaks_chat_completions(stub):
    tools = [{"type": "function", "function": {"name": "bash", "parameters": SHELL}}]
    messages = [{"role": "user", "content": "go"}]
    first = json.loads(
        post(stub, "/v1/chat/completions", {"model": "m", "messages": messages, "tools": tools})
    )
    said = first["choices"][0]["message"]
    assert said["tool_calls"][0]["function"]["name"] == "bash"
    messages += [
        said,
        {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "x"},
    ]
    events = streamed(
        post(stub, "/v1/chat/completions", {"model": "m", "messages": messages, "stream": True})
    )
    assert (
        "".join(
            choice["delta"].get("content") or "" for event in events for choice in event["choices"]
        )
        == '{"v": 1}'
    )
    assert events[-1]["usage"]["prompt_tokens"] == 1000


def test_it_speaks_responses_with_plain_tools_and_in_code_mode(stub):
    tools = [{"type": "function", "name": "exec_command", "parameters": SHELL}]
    events = streamed(
        post(stub, "/v1/responses", {"model": "m", "stream": True, "input": "go", "tools": tools})
    )
    assert events[-1]["type"] == "response.completed"
    assert events[-1]["response"]["output"][0]["name"] == "exec_command"
    code_mode = {
        "type": "namespace",
        "name": "functions",
        "tools": [{"type": "custom", "name": "exec"}],
    }
    said = [
        {"type": "additional_tools", "tools": [code_mode]},
        {"type": "message", "role": "user", "content": "go"},
    ]
    item = json.loads(post(stub, "/v1/responses", {"model": "m", "input": said}))["output"][0]
    assert (item["type"], item["namespace"]) == ("custom_tool_call", "functions")
    assert "tools.exec_command" in item["input"]


def test_it_speaks_gemini(stub):
    declared = {"functionDeclarations": [{"name": "run_shell_command"}]}
    body = {"contents": [{"role": "user", "parts": [{"text": "go"}]}], "tools": [declared]}
    first = json.loads(post(stub, "/v1beta/models/g:generateContent", body))["candidates"][0][
        "content"
    ]
    assert first["parts"][0]["functionCall"]["name"] == "run_shell_command"
    result = {"functionResponse": {"name": "run_shell_command", "response": {}}}
    body["contents"] += [first, {"role": "user", "parts": [result]}]
    events = streamed(post(stub, "/v1beta/models/g:streamGenerateContent?alt=sse", body))
    assert events[0]["candidates"][0]["content"]["parts"][0]["text"] == '{"v": 1}'
    assert isinstance(json.loads(post(stub, "/v1beta/models/g:streamGenerateContent", body)), list)


def test_an_error_is_played_once_and_no_key_is_recorded(stub):
    body = {"model": "m", "messages": [{"role": "user", "content": "ERR429"}]}
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(stub, "/v1/messages", body)
    assert (caught.value.code, caught.value.headers["retry-after"]) == (429, "1")
    caught.value.close()
    assert "ok" in post(stub, "/v1/messages", body)
    assert stub.requests[0]["headers"]["x-api-key"] == "***"


def test_an_answer_has_what_the_schema_requires_although_the_script_leaves_it_out():
    entry = {
        "required": ["id", "sure", "note"],
        "properties": {
            "id": {"type": "string"},
            "sure": {"type": "integer"},
            "note": {"type": "string"},
        },
    }
    schema = {
        "required": ["all", "end"],
        "properties": {"all": {"type": "array", "items": entry}, "end": {"type": "boolean"}},
    }
    offered = {"StructuredOutput": {"input_schema": schema}}
    made = stub_tools.final({"all": [{"id": "F001"}]}, offered)
    assert made["input"] == {"all": [{"id": "F001", "sure": 0, "note": ""}], "end": False}
