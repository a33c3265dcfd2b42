"""Claude Code, asked with `claude -p`."""

from types import MappingProxyType

from punchlist.adapters.agents.cli_agent import AgentCall, CallContext, ParsedReply, encode_json
from punchlist.adapters.agents.dialects import stream_json
from punchlist.adapters.agents.json_lines import JsonEvent
from punchlist.adapters.process.run import ProcessResult
from punchlist.ports.agent import Ask

_ALWAYS = ("-p", "--output-format", "stream-json", "--verbose")
_OWN_SETTINGS_ONLY = ("--setting-sources", "", "--strict-mcp-config")
"""Hooks, permissions and MCP servers that the repository brings along are not loaded; they would
run before the first word.
"""
_READS = ("--tools", "Read,Grep,Glob,Agent", "--permission-mode", "dontAsk")
_EDITS = (
    "--allowedTools",
    "Read,Grep,Glob,Edit,Write,NotebookEdit,Bash,Agent",
    "--permission-mode",
    "dontAsk",
)
"""Not the flag that skips all permissions: that one is refused to root, and says more than is
meant.
"""
_QUIET = MappingProxyType(
    {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # it does not end while one runs
        "CLAUDE_CODE_MAX_RETRIES": "2",  # it would try a wrong key for minutes; patience is ours
    }
)


class Claude:
    program = "claude"
    keys = (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
    )
    cumulative = ("input_tokens", "output_tokens", "dollars")

    def build_call(self, ask: Ask, desk: CallContext) -> AgentCall:
        arguments = [*_ALWAYS, *_OWN_SETTINGS_ONLY, *(_EDITS if ask.writes else _READS)]
        if ask.schema is not None:
            arguments += ["--json-schema", encode_json(ask.schema)]
        if desk.settings.model:
            arguments += ["--model", desk.settings.model]
        if desk.settings.effort:
            arguments += ["--effort", desk.settings.effort]
        if ask.session:
            arguments += ["--resume", ask.session, *(["--fork-session"] if ask.fork else [])]
        return AgentCall(arguments=tuple(arguments), stdin=ask.prompt, env=_QUIET)

    def describe_event(self, event: JsonEvent) -> str:
        return stream_json.describe_event(event)

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        return stream_json.parse_output(ran, ask, ("structured_output",))
