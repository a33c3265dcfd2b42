"""Parser for the JSON lines of Claude Code and Qwen Code."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.denials import name_call
from punchlist.adapters.agents.dialect import ParsedReply, read_usage
from punchlist.adapters.agents.json_lines import JsonEvent, find_last, first_text, parse_events
from punchlist.adapters.agents.spending import Measured
from punchlist.adapters.process.run import ProcessResult
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask

_PATHS = ("file_path", "absolute_path", "notebook_path", "path")
_CACHED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_INPUT = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens")


def session_options(ask: Ask) -> tuple[str, ...]:
    if not ask.session:
        return ()
    return ("--resume", ask.session, *(("--fork-session",) if ask.fork else ()))


def describe_event(event: JsonEvent) -> str:
    """Return the assistant's text and its tool calls as text, or ''."""
    blocks = _list_blocks([event], "assistant")
    return "\n".join(filter(None, map(_describe_block, blocks)))


def measure_event(event: JsonEvent) -> Measured | None:
    """Return the usage of a model call; each block of its message is an event with the same id."""
    if event.type != "assistant":
        return None
    usage = event.get("message", "usage")
    return Measured(
        key=event.text("message", "id"),
        usage=Usage(
            input_tokens=sum(usage.count(name) for name in _CACHED),
            output_tokens=usage.count("output_tokens"),
        ),
        continues=any(map(_is_work, event.items("message", "content"))),
    )


def _is_work(block: JsonEvent) -> bool:
    """Return whether a block calls a tool, other than the one that hands in the answer."""
    return block.type == "tool_use" and not block.text("name").lower().startswith("structured")


def _list_blocks(events: Sequence[JsonEvent], kind: str) -> Iterator[JsonEvent]:
    """Yield the blocks of content in all events of a type."""
    for event in events:
        if event.type == kind:
            yield from event.items("message", "content")


def _describe_block(block: JsonEvent) -> str:
    if block.type == "text":
        return block.text("text")
    target = _tool_path(block) or block.text("input", "command")
    return f"{block.text('name')} {target}".strip() if block.type == "tool_use" else ""


def parse_output(ran: ProcessResult, ask: Ask, answer: Sequence[str]) -> ParsedReply:
    """Parse the last result event. `answer` names the fields that may hold a structured answer."""
    found = list(parse_events(ran.stdout))
    session = first_text(found[::-1], "session_id")
    opened = tuple(_opened_files(found))
    result = find_last(found, "result")
    if result is None:
        failed, trouble = troubles.explain_no_result(ran)
        return ParsedReply(session=session, opened=opened, failed=failed, trouble=trouble)
    failed, problem = _explain_failure(result, ran)
    refused = result.items("permission_denials")
    structured = map(result.json, answer if ask.schema else ())
    return ParsedReply(
        text="" if failed else next(filter(None, structured), "") or result.text("result"),
        session=session,
        usage=_sum_usage(result),
        failed=failed,
        trouble=problem,
        retry_after=troubles.parse_retry_delay(failed),
        opened=opened,
        denied=tuple(name_call(call.text("tool_name"), _call_target(call)) for call in refused),
    )


def _explain_failure(result: JsonEvent, ran: ProcessResult) -> tuple[str, AgentTrouble | None]:
    """Return the failure (or '') and its trouble, by `is_error`, `subtype` and the exit code."""
    subtype = result.text("subtype")
    if not result.is_true("is_error") and subtype == "success":
        return troubles.explain_exit(ran)
    errors = [event.text() or event.text("message") for event in result.items("errors")]
    listed = "; ".join(filter(None, errors))
    message = result.text("error", "message") or listed or result.text("result") or subtype
    if subtype in ("error_max_turns", "error_max_budget_usd"):
        return f"{subtype}: {message}", AgentTrouble.LIMIT
    trouble = troubles.classify_error(message, result.count("api_error_status"))
    return message or "an error without a message", trouble


def _sum_usage(result: JsonEvent) -> Usage:
    """Return the usage of all models, also of subagents, which the plain counts leave out."""
    models = result.values("modelUsage")
    dollars = max(result.number("total_cost_usd"), 0)
    if not models:
        return replace(read_usage(result), dollars=dollars)
    return Usage(
        input_tokens=sum(model.count(name) for model in models for name in _INPUT),
        output_tokens=sum(model.count("outputTokens") for model in models),
        dollars=dollars,
    )


def _opened_files(found: Sequence[JsonEvent]) -> Iterator[str]:
    """Yield the files of tool calls that succeeded."""
    results = _list_blocks(found, "user")
    done = {block.text("tool_use_id") for block in results if not block.is_true("is_error")}
    for block in _list_blocks(found, "assistant"):
        used = block.type == "tool_use" and block.text("id") in done
        if used and (path := _tool_path(block)):
            yield path


def _call_target(call: JsonEvent) -> str:
    """Return what a refused call was about: a file, a command, or all of its input."""
    given = call.get("tool_input")
    names = (*_PATHS, "command", "url", "pattern")
    return next((text for name in names if (text := given.text(name))), given.json())


def _tool_path(block: JsonEvent) -> str:
    return next((path for name in _PATHS if (path := block.text("input", name))), "")
