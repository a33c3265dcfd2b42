"""Agents that speak the Agent Client Protocol (JSON-RPC on stdio); punchlist is the client.

The protocol has no read-only mode, no schema and no limits, and some agents edit without asking.
Read-only is requested by mode and permissions, and enforced by the sandbox and by comparing the
tree afterwards.
"""

from msgspec.structs import replace

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import (
    AgentCall,
    AgentSetup,
    CallContext,
    CliAgent,
    ParsedReply,
)
from punchlist.adapters.agents.dialects.acp_client import (
    LOAD,
    MODE,
    OPTIONAL,
    PATIENCE,
    PROMPT,
    SESSION,
    AcpClient,
)
from punchlist.adapters.agents.json_lines import JsonEvent, parse_events
from punchlist.adapters.process.run import ProcessResult
from punchlist.errors import SettingsError
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask

_AUTH = -32000
_USAGE = (("usage",), ("_meta", "quota", "token_count"))
_HIDDEN = tuple(
    ".claude .mcp.json .codex .gemini .qwen .opencode opencode.json opencode.jsonc .cursor .goose"
    " .env".split()
)
"""Where a repository has settings, hooks and servers for agents; which of them the one behind the
protocol heeds is not known.
"""
_STOPPED = {
    "max_tokens": AgentTrouble.LIMIT,
    "max_turn_requests": AgentTrouble.LIMIT,
    "refusal": AgentTrouble.OTHER,
    "cancelled": AgentTrouble.TIMEOUT,
}


class Acp:
    """Dialect that parses the whole output again at the end."""

    program = ""
    keys: tuple[str, ...] = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
    cumulative: tuple[str, ...] = ()

    def build_call(self, ask: Ask, desk: CallContext) -> AgentCall:
        client = AcpClient(ask, desk.settings.timeout * PATIENCE)
        return AgentCall(
            arguments=(),
            stdin="",
            env={"OPENCODE_DISABLE_PROJECT_CONFIG": "1"},
            client=client,
            hidden=_HIDDEN,
        )

    def describe_event(self, event: JsonEvent) -> str:
        return (
            _chunk_text(event)
            if event.text("params", "update", "sessionUpdate") == "agent_message_chunk"
            else ""
        )

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        return parse_messages(ran.stdout, ran.stderr.decode(errors="replace"), ask.session)


def parse_messages(output: bytes, errors: str = "", session: str = "") -> ParsedReply:
    """Parse the answer to the prompt, with the text and opened files before it."""
    so_far = _Conversation(session)
    for heard in parse_events(output):
        if heard.has("method"):
            so_far.add_update(heard)
        elif heard.has("error") and heard.count("id") not in OPTIONAL:
            return so_far.build_failure(heard.get("error"))
        elif heard.count("id") in (LOAD, SESSION):
            so_far = _Conversation(
                heard.text("result", "sessionId") or session
            )  # what came before is a loaded session's past
        elif heard.count("id") == MODE:
            so_far = _Conversation(so_far.session)
        elif heard.count("id") == PROMPT:
            return so_far.build_reply(heard.get("result"))
    return ParsedReply(
        failed=errors.strip()[-500:] or "it ended before there was an answer",
        trouble=AgentTrouble.CUT,
        session=so_far.session,
    )


class _Conversation:
    """State of a conversation; `_said` has a list of pieces per stretch between tool calls."""

    def __init__(self, session: str) -> None:
        self.session = session
        self._said: list[list[str]] = [[]]
        self._opened: list[str] = []
        self._tools: set[str] = set()
        self._usage = Usage()

    def add_update(self, heard: JsonEvent) -> None:
        update = heard.get("params", "update")
        match update.text("sessionUpdate") or heard.text("method"):
            case "agent_message_chunk":
                self._said[-1].append(_chunk_text(heard))
                self._usage += _read_usage(update.get("_meta", "usage"))
            case "tool_call" | "tool_call_update":
                self._add_tool(update)
            case "usage_update":
                self._usage = replace(
                    self._usage, dollars=update.number("cost", "amount") or self._usage.dollars
                )
            case "fs/read_text_file":
                self._opened.append(heard.text("params", "path"))

    def _add_tool(self, update: JsonEvent) -> None:
        if (tool := update.text("toolCallId")) not in self._tools:
            self._tools.add(tool)
            self._said.append([])
        if update.text("kind") == "read":
            self._opened += [location.text("path") for location in update.items("locations")]

    def build_failure(self, error: JsonEvent) -> ParsedReply:
        said = " ".join(
            filter(None, (error.text("message"), error.text("data") or error.json("data")))
        )
        trouble = (
            AgentTrouble.AUTH if error.number("code") == _AUTH else troubles.classify_error(said)
        )
        text = said or "it answered with an error that says nothing"
        return ParsedReply(
            failed=text,
            trouble=trouble,
            session=self.session,
            retry_after=troubles.parse_retry_delay(said),
        )

    def build_reply(self, result: JsonEvent) -> ParsedReply:
        why = result.text("stopReason")
        # Some tell it at the end, some with every piece.
        told_last = next((result.get(*path) for path in _USAGE if result.has(*path)), None)
        usage = (
            self._usage
            if told_last is None
            else replace(_read_usage(told_last), dollars=self._usage.dollars)
        )
        told = ParsedReply(
            text=next(
                filter(None, ("".join(pieces).strip() for pieces in reversed(self._said))), ""
            ),
            session=self.session,
            usage=usage,
            opened=tuple(self._opened),
        )
        return (
            told
            if why == "end_turn"
            else replace(
                told,
                failed=f"it stopped: {why or 'and did not say why'}",
                trouble=_STOPPED.get(why, AgentTrouble.OTHER),
            )
        )


def _read_usage(usage: JsonEvent) -> Usage:
    return Usage(
        input_tokens=usage.count("inputTokens") or usage.count("input_tokens"),
        output_tokens=usage.count("outputTokens") or usage.count("output_tokens"),
    )


def _chunk_text(heard: JsonEvent) -> str:
    return heard.text("params", "update", "content", "text")


class AcpAgent(CliAgent):
    def __init__(self, seat: AgentSetup) -> None:
        if not seat.settings.command:
            raise SettingsError(
                f"agent.{seat.name}.command: there is no program to talk to",
                hint=f'[agent.{seat.name}] command = ["gemini", "--acp"]',
            )
        super().__init__(Acp(), seat)
