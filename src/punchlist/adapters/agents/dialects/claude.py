"""Claude Code, asked with `claude -p`."""

from pathlib import Path

from punchlist.adapters.agents.dialect import (
    AgentCall,
    CallContext,
    ParsedReply,
    ReadEvent,
    option,
    schema_option,
    structured_prompt,
)
from punchlist.adapters.agents.dialects import stream_json
from punchlist.adapters.agents.json_lines import JsonEvent
from punchlist.adapters.agents.model_access import ModelAccess, ModelEndpoint
from punchlist.adapters.process.run import ProcessResult
from punchlist.ports.agent import Ask

_ALWAYS = ("-p", "--output-format", "stream-json", "--verbose")
_OWN_SETTINGS_ONLY = ("--setting-sources", "", "--strict-mcp-config")
"""The repository's own hooks, permissions and MCP servers are not loaded: they would run first."""
_READS = ("--tools", "Read,Grep,Glob,Agent", "--permission-mode", "dontAsk")
_TOOLS = "Read,Grep,Glob,Edit,Write,NotebookEdit,Bash,Agent"
_EDITS = ("--allowedTools", _TOOLS, "--permission-mode", "dontAsk")
"""Not the flag that skips all permissions: it allows too much, and root may not use it."""
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # it does not end while one runs
    "CLAUDE_CODE_MAX_RETRIES": "2",  # else it tries a wrong key for minutes; punchlist retries
}


class Claude:
    program = "claude"
    keys = tuple(
        "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN ANTHROPIC_BASE_URL".split()
    )
    access = ModelAccess(
        ModelEndpoint(keys[:3], keys[3], "https://api.anthropic.com"),
        hosts=("api.anthropic.com", "console.anthropic.com", "platform.claude.com"),
    )
    metered = True
    cumulative = ("input_tokens", "output_tokens", "dollars")

    def build_call(self, ask: Ask, context: CallContext) -> AgentCall:
        arguments = (
            *_ALWAYS,
            *_OWN_SETTINGS_ONLY,
            *(_EDITS if ask.writes else _READS),
            *schema_option("--json-schema", ask),
            *option("--model", context.settings.model),
            *option("--max-budget-usd", _format_budget(context.dollars_left)),
            *option("--effort", context.settings.effort),
            *stream_json.session_options(ask),
        )
        return AgentCall(arguments=arguments, stdin=structured_prompt(ask), env=_QUIET)

    def describe_event(self, event: JsonEvent) -> str:
        return stream_json.describe_event(event)

    def make_meter(self, home: Path) -> ReadEvent:
        return stream_json.measure_event

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        return stream_json.parse_output(ran, ask, ("structured_output",))


def _format_budget(dollars: float) -> str:
    return f"{dollars:.4f}" if dollars else ""
