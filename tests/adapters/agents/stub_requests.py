"""Requests to four model APIs, reduced to what a scripted model has to know of them."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Request:
    """`rounds` counts tool round trips since the newest user text: the step a stateless script is at."""

    api: str
    model: str = ""
    stream: bool = False
    system: str = ""
    last_user: str = ""
    rounds: int = 0
    tools: dict[str, Any] = field(default_factory=dict)

    def new_prompt(self, text: str) -> None:
        self.rounds, self.last_user = 0, text


def text_of(content: object) -> str:
    """The text of a content field: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [
        part if isinstance(part, str) else part.get("text")
        for part in parts
        if isinstance(part, str | dict)
    ]
    return "\n".join(text for text in texts if isinstance(text, str))


def anthropic(body: dict[str, Any]) -> Request:
    request = Request(
        "anthropic", body.get("model", ""), bool(body.get("stream")), text_of(body.get("system"))
    )
    for message in body.get("messages", []):
        content = message.get("content")
        if message.get("role") != "user":
            continue
        if isinstance(content, list) and any(
            isinstance(p, dict) and p.get("type") == "tool_result" for p in content
        ):
            request.rounds += 1
            continue
        text = text_of(content).strip()
        # Reminders that the client puts in by itself are no new prompt.
        if not (text.startswith("<system-reminder>") and text.endswith("</system-reminder>")):
            request.new_prompt(text)
    request.tools = {
        tool.get("name", tool.get("type", "?")): tool for tool in body.get("tools") or []
    }
    return request


def chat(body: dict[str, Any]) -> Request:
    request = Request("chat", body.get("model", ""), bool(body.get("stream")))
    system, in_results = [], False
    for message in body.get("messages", []):
        role = message.get("role")
        if role in ("system", "developer"):
            system.append(text_of(message.get("content")))
        elif role == "user":
            request.new_prompt(text_of(message.get("content")))
        elif role == "tool" and not in_results:
            request.rounds += 1
        in_results = role == "tool"
    request.system = "\n".join(system)
    functions = [
        tool["function"] for tool in body.get("tools") or [] if tool.get("type") == "function"
    ]
    request.tools = {function["name"]: function for function in functions}
    return request


def responses(body: dict[str, Any]) -> Request:
    request = Request("responses", body.get("model", ""), bool(body.get("stream")))
    system, in_results = [body.get("instructions") or ""], False
    items = body.get("input")
    if isinstance(items, str):
        items = [{"type": "message", "role": "user", "content": items}]
    _add_tools(request.tools, body.get("tools"))
    for item in items or []:
        kind = item.get("type", "message")
        if kind == "additional_tools":  # the newest Codex models get their tools as an input item
            _add_tools(request.tools, item.get("tools"))
        if kind == "message" and item.get("role") in ("system", "developer"):
            system.append(text_of(item.get("content")))
        elif kind == "message" and item.get("role") == "user":
            request.new_prompt(text_of(item.get("content")))
        is_result = kind.endswith("_output")
        request.rounds += is_result and not in_results
        in_results = is_result
    request.system = "\n".join(system)
    return request


def _add_tools(
    tools: dict[str, Any], offered: list[Any] | None, namespace: str | None = None
) -> None:
    """Codex nests tools in namespaces, and wants calls to name them."""
    for tool in offered or []:
        if tool.get("type") == "namespace":
            _add_tools(tools, tool.get("tools"), tool.get("name"))
        else:
            tools[tool.get("name") or tool.get("type")] = {**tool, "_ns": namespace}


def gemini(body: dict[str, Any], model: str, *, stream: bool) -> Request:
    request = Request(
        "gemini", model, stream, text_of((body.get("systemInstruction") or {}).get("parts"))
    )
    for content in body.get("contents", []):
        parts = content.get("parts", [])
        if content.get("role", "user") not in ("user", "function"):
            continue
        if any("functionResponse" in part for part in parts):
            request.rounds += 1
        else:
            request.new_prompt(text_of(parts))
    functions = [
        function
        for tool in body.get("tools") or []
        for function in tool.get("functionDeclarations", [])
    ]
    request.tools = {function["name"]: function for function in functions}
    return request
