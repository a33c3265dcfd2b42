"""Answers of a scripted model in the words of four model APIs: as one body, and as the events of a stream."""

import json
import time
import uuid
from typing import Any

from stub_requests import Request

Body = dict[str, Any]
Events = list[tuple[str | None, Any]]


def made_id(prefix: str) -> str:
    return f"{prefix}{uuid.uuid4().hex[:24]}"


def anthropic(request: Request, blocks: list[Body], usage: Body) -> tuple[Body, Events]:
    counted = {
        "input_tokens": usage["in"],
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage["cached"],
        "output_tokens": 1,
    }
    message = {
        "id": made_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [],
    }
    message |= {"stop_reason": None, "stop_sequence": None, "usage": counted}
    events: Events = [
        ("message_start", {"type": "message_start", "message": message}),
        ("ping", {"type": "ping"}),
    ]
    content = []
    for index, block in enumerate(blocks):
        whole, start, deltas = _anthropic_block(block)
        content.append(whole)
        events.append(
            (
                "content_block_start",
                {"type": "content_block_start", "index": index, "content_block": start},
            )
        )
        events += [
            ("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta})
            for delta in deltas
        ]
        events.append(("content_block_stop", {"type": "content_block_stop", "index": index}))
    stop = "tool_use" if any("tool" in block for block in blocks) else "end_turn"
    delta = {"stop_reason": stop, "stop_sequence": None}
    events.append(
        (
            "message_delta",
            {"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage["out"]}},
        )
    )
    events.append(("message_stop", {"type": "message_stop"}))
    return {
        **message,
        "content": content,
        "stop_reason": stop,
        "usage": {**counted, "output_tokens": usage["out"]},
    }, events


def _anthropic_block(block: Body) -> tuple[Body, Body, list[Body]]:
    if "thinking" in block:
        whole = {"type": "thinking", "thinking": block["thinking"], "signature": "c3R1Yg=="}
        deltas = [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": "c3R1Yg=="},
        ]
        return whole, {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if "tool" in block:
        given = block.get("input", {})
        whole = {"type": "tool_use", "id": made_id("toolu_"), "name": block["tool"], "input": given}
        return (
            whole,
            {**whole, "input": {}},
            [{"type": "input_json_delta", "partial_json": json.dumps(given)}],
        )
    whole = {"type": "text", "text": block["text"]}
    return whole, {"type": "text", "text": ""}, [{"type": "text_delta", "text": block["text"]}]


def chat(request: Request, blocks: list[Body], usage: Body) -> tuple[Body, Events]:
    base = {
        "id": made_id("chatcmpl-"),
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": request.model,
    }
    text = "".join(block.get("text", "") for block in blocks)
    calls = [
        {
            "id": made_id("call_"),
            "type": "function",
            "index": index,
            "function": {"name": block["tool"], "arguments": json.dumps(block.get("input", {}))},
        }
        for index, block in enumerate(block for block in blocks if "tool" in block)
    ]
    finish = "tool_calls" if calls else "stop"
    counted = {
        "prompt_tokens": usage["in"],
        "completion_tokens": usage["out"],
        "total_tokens": usage["in"] + usage["out"],
        "prompt_tokens_details": {"cached_tokens": usage["cached"]},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    deltas: list[Body] = [
        {"role": "assistant", "content": ""},
        *([{"content": text}] if text else []),
    ]
    deltas += [{"tool_calls": [call]} for call in calls]
    choices = [
        {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None} for delta in deltas
    ]
    choices.append({"index": 0, "delta": {}, "logprobs": None, "finish_reason": finish})
    events: Events = [(None, {**base, "choices": [choice]}) for choice in choices]
    events += [(None, {**base, "choices": [], "usage": counted}), (None, "[DONE]")]
    message: Body = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {key: value for key, value in call.items() if key != "index"} for call in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    return {**base, "object": "chat.completion", "usage": counted, "choices": [choice]}, events


class _Responses:
    """The events of one answer, numbered as they are added."""

    def __init__(self) -> None:
        self.events: Events = []

    def add(self, kind: str, **values: Any) -> None:
        self.events.append((kind, {"type": kind, "sequence_number": len(self.events), **values}))


def responses(request: Request, blocks: list[Body], usage: Body) -> tuple[Body, Events]:
    stream, output = _Responses(), []
    base = {
        "id": made_id("resp_"),
        "object": "response",
        "created_at": int(time.time()),
        "model": request.model,
    }
    base |= {"status": "in_progress", "output": [], "usage": None, "error": None}
    base |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    stream.add("response.created", response=base)
    stream.add("response.in_progress", response=base)
    for index, block in enumerate(blocks):
        item = _responses_item(stream, index, block)
        stream.add("response.output_item.done", output_index=index, item=item)
        output.append(item)
    counted = {
        "input_tokens": usage["in"],
        "input_tokens_details": {"cached_tokens": usage["cached"]},
        "output_tokens": usage["out"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage["in"] + usage["out"],
    }
    full = {**base, "status": "completed", "output": output, "usage": counted}
    stream.add("response.completed", response=full)
    return full, stream.events


def _responses_item(stream: _Responses, index: int, block: Body) -> Body:
    if "thinking" in block:
        said = {"type": "summary_text", "text": block["thinking"]}
        item = {"type": "reasoning", "id": made_id("rs_"), "summary": [said], "content": []}
        stream.add("response.output_item.added", output_index=index, item={**item, "summary": []})
        return item
    if "local_shell" in block:
        item = {
            "type": "local_shell_call",
            "id": made_id("lsh_"),
            "call_id": made_id("call_"),
            "status": "completed",
        }
        item["action"] = {"type": "exec", "command": block["local_shell"]}
        stream.add("response.output_item.added", output_index=index, item=item)
        return item
    return (
        _responses_call(stream, index, block)
        if "tool" in block
        else _responses_text(stream, index, block["text"])
    )


def _responses_call(stream: _Responses, index: int, block: Body) -> Body:
    given = block.get("input", {})
    freeform = isinstance(given, str)  # such as a patch
    kind, key = ("custom_tool_call", "input") if freeform else ("function_call", "arguments")
    step = "custom_tool_call_input" if freeform else "function_call_arguments"
    said = given if freeform else json.dumps(given)
    item = {
        "type": kind,
        "id": made_id("fc_"),
        "status": "completed",
        "call_id": made_id("call_"),
        "name": block["tool"],
        key: said,
    }
    if block.get("namespace"):
        item["namespace"] = block["namespace"]
    stream.add("response.output_item.added", output_index=index, item={**item, key: ""})
    stream.add(f"response.{step}.delta", item_id=item["id"], output_index=index, delta=said)
    stream.add(f"response.{step}.done", item_id=item["id"], output_index=index, **{key: said})
    return item


def _responses_text(stream: _Responses, index: int, text: str) -> Body:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    item = {
        "type": "message",
        "id": made_id("msg_"),
        "status": "completed",
        "role": "assistant",
        "content": [part],
    }
    where = {"item_id": item["id"], "output_index": index, "content_index": 0}
    stream.add(
        "response.output_item.added",
        output_index=index,
        item={**item, "status": "in_progress", "content": []},
    )
    stream.add("response.content_part.added", **where, part={**part, "text": ""})
    stream.add("response.output_text.delta", **where, delta=text, logprobs=[])
    stream.add("response.output_text.done", **where, text=text, logprobs=[])
    stream.add("response.content_part.done", **where, part=part)
    return item


def gemini(request: Request, blocks: list[Body], usage: Body) -> tuple[Body, Events]:
    parts = [_gemini_part(block) for block in blocks]
    counted = {
        "promptTokenCount": usage["in"],
        "candidatesTokenCount": usage["out"],
        "cachedContentTokenCount": usage["cached"],
        "thoughtsTokenCount": 0,
        "totalTokenCount": usage["in"] + usage["out"],
    }
    rest = {"usageMetadata": counted, "modelVersion": request.model, "responseId": made_id("")}
    ends: list[Body] = [{} for _ in parts[1:]] + [{"finishReason": "STOP"}]
    chunks = [
        {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, **end}], **rest}
        for part, end in zip(parts, ends, strict=True)
    ]
    whole = {"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": parts}}
    return {"candidates": [whole], **rest}, [(None, chunk) for chunk in chunks]


def _gemini_part(block: Body) -> Body:
    if "tool" in block:
        call = {"name": block["tool"], "args": block.get("input", {}), "id": made_id("fc_")}
        return {"functionCall": call, "thoughtSignature": "c3R1Yg=="}
    return (
        {"text": block["thinking"], "thought": True}
        if "thinking" in block
        else {"text": block["text"]}
    )


ANSWERS = {"anthropic": anthropic, "chat": chat, "responses": responses, "gemini": gemini}

_ANTHROPIC_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_GEMINI_ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}
_OPENAI_ERRORS = {
    401: ("invalid_request_error", "invalid_api_key"),
    429: ("rate_limit_exceeded", "rate_limit_exceeded"),
}


def error_body(api: str, status: int, message: str) -> Body:
    if api == "anthropic":
        kind = _ANTHROPIC_ERRORS.get(status, "api_error")
        return {
            "type": "error",
            "error": {"type": kind, "message": message},
            "request_id": made_id("req_"),
        }
    if api == "gemini":
        return {
            "error": {
                "code": status,
                "message": message,
                "status": _GEMINI_ERRORS.get(status, "INTERNAL"),
            }
        }
    kind, code = _OPENAI_ERRORS.get(status, ("server_error", None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
