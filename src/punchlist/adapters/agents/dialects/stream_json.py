"""The stream of JSON lines that Claude Code prints, and Qwen Code after it: what was said, done,
spent, and how it ended.
"""

from collections.abc import Iterator, Sequence

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import Told
from punchlist.adapters.agents.json_lines import Event, events
from punchlist.adapters.process.run import Ran
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import Ask, Trouble

_PATHS = ("file_path", "absolute_path", "notebook_path", "path")
_INPUT = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens")


def piece(event: Event) -> str:
    """What is said, and which tool is used on what."""
    if event.text("type") != "assistant":
        return ""
    return "\n".join(said for block in event.items("message", "content") if (said := _said(block)))


def _said(block: Event) -> str:
    if block.text("type") == "text":
        return block.text("text")
    target = _path(block) or block.text("input", "command")
    return f"{block.text('name')} {target}".strip() if block.text("type") == "tool_use" else ""


def told(ran: Ran, ask: Ask, answer: Sequence[str]) -> Told:
    """What the last result says. `answer` names the fields a structured answer may be in."""
    found = list(events(ran.stdout))
    session = next((name for event in reversed(found) if (name := event.text("session_id"))), "")
    opened = tuple(_opened(found))
    result = next((event for event in reversed(found) if event.text("type") == "result"), None)
    if result is None:
        words, kind = troubles.no_result(ran)
        return Told(session=session, opened=opened, failed=words, trouble=kind)
    usage = _with_helpers(result) if result.values("modelUsage") else _own(result)
    failed, trouble = _failure(result, ran)
    structured = (
        next((text for name in answer if (text := result.json(name))), "") if ask.schema else ""
    )
    text = "" if failed else structured or result.text("result")
    wait = troubles.wait_told(failed) if failed else 0
    return Told(
        text=text,
        session=session,
        usage=usage,
        failed=failed,
        trouble=trouble,
        retry_after=wait,
        opened=opened,
    )


def _failure(result: Event, ran: Ran) -> tuple[str, Trouble | None]:
    """Why a result is none. Its text is an error message only where the event itself says that it
    is an error.
    """
    subtype = result.text("subtype")
    if not result.true("is_error") and subtype == "success":
        if ran.exit_code == 0:
            return "", None
        return f"it ended with code {ran.exit_code} after its result", Trouble.CRASHED
    errors = [event.text() or event.text("message") for event in result.items("errors")]
    message = (
        result.text("error", "message")
        or "; ".join(filter(None, errors))
        or result.text("result")
        or subtype
    )
    if subtype in ("error_max_turns", "error_max_budget_usd"):
        return f"{subtype}: {message}", Trouble.LIMIT
    return message or "an error without a message", troubles.of_error(
        message, result.count("api_error_status")
    )


def _own(result: Event) -> Usage:
    return Usage(
        input_tokens=result.count("usage", "input_tokens"),
        output_tokens=result.count("usage", "output_tokens"),
    )


def _with_helpers(result: Event) -> Usage:
    """What all models took, those of its own subagents too, which the plain figures leave out."""
    models = result.values("modelUsage")
    return Usage(
        input_tokens=sum(model.count(name) for model in models for name in _INPUT),
        output_tokens=sum(model.count("outputTokens") for model in models),
        dollars=max(result.number("total_cost_usd"), 0),
    )


def _opened(found: Sequence[Event]) -> Iterator[str]:
    """Files that tools were given and did not refuse."""
    results = [
        block
        for event in found
        if event.text("type") == "user"
        for block in event.items("message", "content")
    ]
    done = {block.text("tool_use_id") for block in results if not block.true("is_error")}
    for event in found:
        if event.text("type") == "assistant":
            for block in event.items("message", "content"):
                if (
                    block.text("type") == "tool_use"
                    and block.text("id") in done
                    and (path := _path(block))
                ):
                    yield path


def _path(block: Event) -> str:
    return next((path for name in _PATHS if (path := block.text("input", name))), "")
