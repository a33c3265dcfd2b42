"""GitHub Copilot CLI, asked with `copilot --output-format json`."""

from collections.abc import Iterator, Sequence

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import AgentCall, CallContext, ParsedReply
from punchlist.adapters.agents.json_lines import JsonEvent, parse_events
from punchlist.adapters.process.run import ProcessResult
from punchlist.ports.agent import AgentTrouble, Ask

_KEY = "COPILOT_PROVIDER_API_KEY"
_TOKEN = "COPILOT_GITHUB_TOKEN"  # noqa: S105  # the name of a variable
_ALWAYS = (
    "--output-format",
    "json",
    "--no-color",
    "--no-ask-user",
    "--no-auto-update",
    # what the project wants of agents is in the prompt, from the base commit
    "--no-custom-instructions",
    "--disable-builtin-mcps",
    "--no-remote",
    "--disable-client-telemetry",
    f"--secret-env-vars={_KEY},{_TOKEN}",  # commands that it runs do not get them
)
_READS = ("--available-tools=view,rg,grep,glob",)
_EDITS = ("--allow-all-tools",)
_BROKEN = ("error reading a body", "unexpected EOF", "connection closed", "connection reset")


class Copilot:
    """Without a trusted folder the repository's hooks and servers are not loaded. It reports no
    tokens; on a GitHub plan a call costs requests, not dollars.
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
    cumulative = ()

    def build_call(self, ask: Ask, desk: CallContext) -> AgentCall:
        arguments = [*_ALWAYS, *(_EDITS if ask.writes else _READS)]
        if desk.settings.model:
            arguments.append(f"--model={desk.settings.model}")
        if desk.settings.effort:
            arguments.append(f"--reasoning-effort={desk.settings.effort}")
        if ask.session and not ask.fork:  # it cannot go on in a copy; two in one session would mix
            arguments.append(f"--resume={ask.session}")
        env = {"COPILOT_HOME": str(desk.home / ".copilot")}
        if desk.base_url:
            env["COPILOT_OFFLINE"] = (
                "true"  # with a model of the user's own nothing of GitHub's is needed
            )
        return AgentCall(arguments=tuple(arguments), stdin=ask.prompt, env=env)

    def describe_event(self, event: JsonEvent) -> str:
        match event.text("type"):
            case "assistant.message":
                return event.text("data", "content")
            case "tool.execution_start":
                target = event.text("data", "arguments", "path") or event.text(
                    "data", "arguments", "command"
                )
                return f"{event.text('data', 'toolName')} {target}".strip()
            case _:
                return ""

    def parse_output(
        self, ran: ProcessResult, ask: Ask
    ) -> ParsedReply:  # the shape of the port; its answer is text, whatever was asked
        found = list(parse_events(ran.stdout))
        result = next((event for event in reversed(found) if event.text("type") == "result"), None)
        failed, trouble = (
            _explain_failure(result, found, ran) if result else troubles.explain_no_result(ran)
        )
        text = "" if failed else _last_message(found)
        if not failed and not text.strip():
            failed, trouble = "its answer is empty", AgentTrouble.OTHER
        return ParsedReply(
            text=text,
            session=result.text("sessionId") if result else "",
            failed=failed,
            trouble=trouble,
            retry_after=troubles.parse_retry_delay(failed) if failed else 0,
            opened=tuple(_opened_files(found)),
        )


def _explain_failure(
    result: JsonEvent, found: Sequence[JsonEvent], ran: ProcessResult
) -> tuple[str, AgentTrouble | None]:
    error = next(
        (event.get("data") for event in reversed(found) if event.text("type") == "session.error"),
        None,
    )
    if result.has("exitCode") and result.number("exitCode") == 0 and ran.exit_code == 0:
        return "", None
    if error is None:
        return f"it ended with code {ran.exit_code} and without saying why", AgentTrouble.CRASHED
    message = error.text("message") or "an error without a message"
    if not error.count("statusCode") and any(words in message for words in _BROKEN):
        return message, AgentTrouble.CUT
    return message, troubles.classify_error(message, error.count("statusCode"))


def _last_message(found: Sequence[JsonEvent]) -> str:
    said = (
        event.text("data", "content")
        for event in reversed(found)
        if event.text("type") == "assistant.message"
    )
    return next(said, "")


def _opened_files(found: Sequence[JsonEvent]) -> Iterator[str]:
    """Yield the files of tool calls that succeeded."""
    asked = {
        event.text("data", "toolCallId"): event.text("data", "arguments", "path")
        for event in found
        if event.text("type") == "tool.execution_start"
    }
    for event in found:
        done = event.text("type") == "tool.execution_complete" and event.is_true("data", "success")
        if done and (path := asked.get(event.text("data", "toolCallId"))):
            yield path
