"""Parser for the JSON lines of Claude Code and Qwen Code."""

from collections.abc import Iterator, Sequence

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import ParsedReply
from punchlist.adapters.agents.json_lines import JsonEvent, parse_events
from punchlist.adapters.process.run import ProcessResult
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask

_PATHS = ("file_path", "absolute_path", "notebook_path", "path")
_INPUT = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens")


def describe_event(event: JsonEvent) -> str:
    """Return the assistant's text and its tool calls as text, or ''."""
    if event.text("type") != "assistant":
        return ""
    return "\n".join(
        said for block in event.items("message", "content") if (said := _describe_block(block))
    )


def _describe_block(block: JsonEvent) -> str:
    if block.text("type") == "text":
        return block.text("text")
    target = _tool_path(block) or block.text("input", "command")
    return f"{block.text('name')} {target}".strip() if block.text("type") == "tool_use" else ""


def parse_output(ran: ProcessResult, ask: Ask, answer: Sequence[str]) -> ParsedReply:
    """Parse the last result event. `answer` names the fields that may hold a structured answer."""
    found = list(parse_events(ran.stdout))
    session = next((name for event in reversed(found) if (name := event.text("session_id"))), "")
    opened = tuple(_opened_files(found))
    result = next((event for event in reversed(found) if event.text("type") == "result"), None)
    if result is None:
        words, kind = troubles.explain_no_result(ran)
        return ParsedReply(session=session, opened=opened, failed=words, trouble=kind)
    usage = _sum_usage(result) if result.values("modelUsage") else _read_usage(result)
    failed, trouble = _explain_failure(result, ran)
    structured = (
        next((text for name in answer if (text := result.json(name))), "") if ask.schema else ""
    )
    text = "" if failed else structured or result.text("result")
    wait = troubles.parse_retry_delay(failed) if failed else 0
    return ParsedReply(
        text=text,
        session=session,
        usage=usage,
        failed=failed,
        trouble=trouble,
        retry_after=wait,
        opened=opened,
    )


def _explain_failure(result: JsonEvent, ran: ProcessResult) -> tuple[str, AgentTrouble | None]:
    """Return the failure (or '') and its trouble, by `is_error`, `subtype` and the exit code."""
    subtype = result.text("subtype")
    if not result.is_true("is_error") and subtype == "success":
        if ran.exit_code == 0:
            return "", None
        return f"it ended with code {ran.exit_code} after its result", AgentTrouble.CRASHED
    errors = [event.text() or event.text("message") for event in result.items("errors")]
    message = (
        result.text("error", "message")
        or "; ".join(filter(None, errors))
        or result.text("result")
        or subtype
    )
    if subtype in ("error_max_turns", "error_max_budget_usd"):
        return f"{subtype}: {message}", AgentTrouble.LIMIT
    return message or "an error without a message", troubles.classify_error(
        message, result.count("api_error_status")
    )


def _read_usage(result: JsonEvent) -> Usage:
    return Usage(
        input_tokens=result.count("usage", "input_tokens"),
        output_tokens=result.count("usage", "output_tokens"),
    )


def _sum_usage(result: JsonEvent) -> Usage:
    """Return the usage of all models, also of subagents, which the plain counts leave out."""
    models = result.values("modelUsage")
    return Usage(
        input_tokens=sum(model.count(name) for model in models for name in _INPUT),
        output_tokens=sum(model.count("outputTokens") for model in models),
        dollars=max(result.number("total_cost_usd"), 0),
    )


def _opened_files(found: Sequence[JsonEvent]) -> Iterator[str]:
    """Yield the files of tool calls that succeeded."""
    results = [
        block
        for event in found
        if event.text("type") == "user"
        for block in event.items("message", "content")
    ]
    done = {block.text("tool_use_id") for block in results if not block.is_true("is_error")}
    for event in found:
        if event.text("type") == "assistant":
            for block in event.items("message", "content"):
                if (
                    block.text("type") == "tool_use"
                    and block.text("id") in done
                    and (path := _tool_path(block))
                ):
                    yield path


def _tool_path(block: JsonEvent) -> str:
    return next((path for name in _PATHS if (path := block.text("input", name))), "")
