"""GitHub Copilot CLI, asked with `copilot --output-format json`."""

from collections.abc import Iterator, Sequence

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.denials import find_denial
from punchlist.adapters.agents.dialect import (
    AgentCall,
    CallContext,
    ParsedReply,
    Unmetered,
    require_text,
)
from punchlist.adapters.agents.json_lines import JsonEvent, find_last, parse_events
from punchlist.adapters.agents.model_access import ModelAccess, ModelEndpoint
from punchlist.adapters.process.run import ProcessResult
from punchlist.ports.agent import AgentTrouble, Ask

_KEY = "COPILOT_PROVIDER_API_KEY"
_TOKEN = "COPILOT_GITHUB_TOKEN"  # noqa: S105  # the name of a variable
# The project's instructions are in the prompt; the commands that it runs do not get its keys.
_ALWAYS = (
    "--output-format json --no-color --no-ask-user --no-auto-update --no-custom-instructions"
    " --disable-builtin-mcps --no-remote --disable-client-telemetry"
    f" --secret-env-vars={_KEY},{_TOKEN}".split()
)
_READS = ("--available-tools=view,rg,grep,glob",)
_EDITS = ("--allow-all-tools",)
_BROKEN = ("error reading a body", "unexpected EOF", "connection closed", "connection reset")


class Copilot(Unmetered):
    """It loads the repository's hooks and servers only in a trusted folder, and reports no tokens:
    on a GitHub plan a call costs requests, not dollars.
    """

    program = "copilot"
    keys = (
        _KEY,
        _TOKEN,
        "COPILOT_PROVIDER_BASE_URL",
        "COPILOT_PROVIDER_TYPE",
        "COPILOT_PROVIDER_WIRE_API",
        "COPILOT_MODEL",
    )
    access = ModelAccess(
        ModelEndpoint((_KEY,), "COPILOT_PROVIDER_BASE_URL"),
        hosts=("api.github.com", "github.com", "*.githubcopilot.com"),
    )
    cumulative = ()

    def build_call(self, ask: Ask, context: CallContext) -> AgentCall:
        arguments = [*_ALWAYS, *(_EDITS if ask.writes else _READS)]
        if context.settings.model:
            arguments.append(f"--model={context.settings.model}")
        if context.settings.effort:
            arguments.append(f"--reasoning-effort={context.settings.effort}")
        if ask.session and not ask.fork:  # it cannot fork, and two calls in one session would mix
            arguments.append(f"--resume={ask.session}")
        env = {"COPILOT_HOME": str(context.home / ".copilot")}
        if context.base_url:  # a model of the user's own needs nothing of GitHub's
            env["COPILOT_OFFLINE"] = "true"
        return AgentCall(arguments=tuple(arguments), stdin=ask.prompt, env=env)

    def describe_event(self, event: JsonEvent) -> str:
        data = event.get("data")
        match event.type:
            case "assistant.message":
                return data.text("content")
            case "tool.execution_start":
                target = data.text("arguments", "path") or data.text("arguments", "command")
                return f"{data.text('toolName')} {target}".strip()
            case _:
                return ""

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        found = list(parse_events(ran.stdout))
        result = find_last(found, "result")
        message = find_last(found, "assistant.message")
        failed, trouble = (
            _explain_failure(result, found, ran) if result else troubles.explain_no_result(ran)
        )
        reply = ParsedReply(
            text=message.text("data", "content") if message else "",
            session=result.text("sessionId") if result else "",
            failed=failed,
            trouble=trouble,
            retry_after=troubles.parse_retry_delay(failed),
            opened=tuple(_opened_files(found)),
            denied=tuple(filter(None, _list_denials(found))),
        )
        return require_text(reply)


def _explain_failure(
    result: JsonEvent, found: Sequence[JsonEvent], ran: ProcessResult
) -> tuple[str, AgentTrouble | None]:
    if result.has("exitCode") and result.number("exitCode") == 0 and ran.exit_code == 0:
        return "", None
    error = find_last(found, "session.error")
    if error is None:
        return f"it ended with code {ran.exit_code} and without saying why", AgentTrouble.CRASHED
    message = error.text("data", "message") or "an error without a message"
    status = error.count("data", "statusCode")
    if not status and any(words in message for words in _BROKEN):
        return message, AgentTrouble.CUT
    return message, troubles.classify_error(message, status)


def _list_denials(found: Sequence[JsonEvent]) -> Iterator[str]:
    used = [event.get("data") for event in found if event.type == "tool.execution_start"]
    calls = {call.text("toolCallId"): call for call in used}
    for event in found:
        call = calls.get(event.text("data", "toolCallId"))
        if call is not None and event.type == "tool.execution_complete":
            target = call.text("arguments", "path") or call.text("arguments", "command")
            why = event.text("data", "error", "message")
            yield find_denial(call.text("toolName"), target, why)


def _opened_files(found: Sequence[JsonEvent]) -> Iterator[str]:
    """Yield the files of tool calls that succeeded."""
    used = [event.get("data") for event in found if event.type == "tool.execution_start"]
    paths = {call.text("toolCallId"): call.text("arguments", "path") for call in used}
    for event in found:
        done = event.type == "tool.execution_complete" and event.is_true("data", "success")
        if done and (path := paths.get(event.text("data", "toolCallId"))):
            yield path
