"""Agents that speak the Agent Client Protocol (JSON-RPC on stdio); punchlist is the client.

The protocol has no read-only mode, no schema and no limits, and some agents edit without asking.
Read-only is requested by mode and permissions, and enforced by the sandbox and by comparing the
tree afterwards.
"""

from pathlib import Path

from msgspec.structs import replace

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import AgentSetup, CliAgent
from punchlist.adapters.agents.dialect import AgentCall, CallContext, ParsedReply, ReadEvent
from punchlist.adapters.agents.dialects import acp_client as client
from punchlist.adapters.agents.json_lines import JsonEvent, parse_events
from punchlist.adapters.agents.model_access import ModelAccess
from punchlist.adapters.agents.spending import Measured
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
"""Where a repository has settings, hooks and servers for agents; this one may heed any of them."""
_STOPPED = {
    "max_tokens": AgentTrouble.LIMIT,
    "max_turn_requests": AgentTrouble.LIMIT,
    "refusal": AgentTrouble.OTHER,
    "cancelled": AgentTrouble.TIMEOUT,
}


class Acp:
    """Dialect that parses the whole output again at the end."""

    program = ""
    keys = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
    access = ModelAccess(
        hosts=(
            "api.anthropic.com",
            "api.openai.com",
            "generativelanguage.googleapis.com",
            "chatgpt.com",
            "auth.openai.com",
            "cloudcode-pa.googleapis.com",
            "oauth2.googleapis.com",
            "platform.claude.com",
        )
    )
    metered = False
    cumulative = ()

    def build_call(self, ask: Ask, context: CallContext) -> AgentCall:
        return AgentCall(
            arguments=(),
            stdin="",
            env={"OPENCODE_DISABLE_PROJECT_CONFIG": "1"},
            client=client.AcpClient(ask, context.settings.timeout * client.PATIENCE),
            hidden=_HIDDEN,
        )

    def describe_event(self, event: JsonEvent) -> str:
        kind = event.text("params", "update", "sessionUpdate")
        return _chunk_text(event) if kind == "agent_message_chunk" else ""

    def make_meter(self, home: Path) -> ReadEvent:
        return _measure_event

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        return parse_messages(ran.stdout, ran.stderr.decode(errors="replace"), ask.session)


def parse_messages(output: bytes, errors: str = "", session: str = "") -> ParsedReply:
    """Parse the answer to the prompt, with the text and opened files before it."""
    conversation = _Conversation(session)
    for message in parse_events(output):
        number = message.count("id")
        if message.has("method"):
            conversation.add_update(message)
        elif message.has("error") and number not in client.OPTIONAL:
            return conversation.build_failure(message.get("error"))
        elif number in (client.LOAD, client.SESSION):
            # What came before is a loaded session's past.
            conversation = _Conversation(message.text("result", "sessionId") or session)
        elif number == client.MODE:
            conversation = _Conversation(conversation.session)
        elif number == client.PROMPT:
            return conversation.build_reply(message.get("result"))
    return ParsedReply(
        failed=errors.strip()[-500:] or "it ended before there was an answer",
        trouble=AgentTrouble.CUT,
        session=conversation.session,
        usage=conversation.usage,
    )


class _Conversation:
    """State of a conversation; `_said` has a list of pieces per stretch between tool calls."""

    def __init__(self, session: str) -> None:
        self.session = session
        self._said: list[list[str]] = [[]]
        self._opened: list[str] = []
        self._tools: set[str] = set()
        self.usage = Usage()

    def add_update(self, message: JsonEvent) -> None:
        update = message.get("params", "update")
        match update.text("sessionUpdate") or message.text("method"):
            case "agent_message_chunk":
                self._said[-1].append(_chunk_text(message))
                self.usage += _read_usage(update.get("_meta", "usage"))
            case "tool_call" | "tool_call_update":
                self._add_tool(update)
            case "usage_update":
                dollars = update.number("cost", "amount") or self.usage.dollars
                self.usage = replace(self.usage, dollars=dollars)
            case "fs/read_text_file":
                self._opened.append(message.text("params", "path"))

    def _add_tool(self, update: JsonEvent) -> None:
        if (tool := update.text("toolCallId")) not in self._tools:
            self._tools.add(tool)
            self._said.append([])
        if update.text("kind") == "read":
            self._opened += [location.text("path") for location in update.items("locations")]

    def build_failure(self, error: JsonEvent) -> ParsedReply:
        data = error.text("data") or error.json("data")
        text = " ".join(filter(None, (error.text("message"), data)))
        denied = error.number("code") == _AUTH
        return ParsedReply(
            failed=text or "it answered with an error that says nothing",
            trouble=AgentTrouble.AUTH if denied else troubles.classify_error(text),
            session=self.session,
            usage=self.usage,
            retry_after=troubles.parse_retry_delay(text),
        )

    def build_reply(self, result: JsonEvent) -> ParsedReply:
        usage = self.usage
        # Some agents report usage at the end, others with every piece.
        if last := next((result.get(*path) for path in _USAGE if result.has(*path)), None):
            usage = replace(_read_usage(last), dollars=usage.dollars)
        texts = ("".join(pieces).strip() for pieces in reversed(self._said))
        reply = ParsedReply(
            text=next(filter(None, texts), ""),
            session=self.session,
            usage=usage,
            opened=tuple(self._opened),
        )
        why = result.text("stopReason")
        if why == "end_turn":
            return reply
        failed = f"it stopped: {why or 'and did not say why'}"
        return replace(reply, failed=failed, trouble=_STOPPED.get(why, AgentTrouble.OTHER))


def _measure_event(event: JsonEvent) -> Measured | None:
    """Return the session's cost so far; a tool call shows that the agent goes on."""
    update = event.get("params", "update")
    match update.text("sessionUpdate"):
        case "usage_update" if update.number("cost", "amount") > 0:
            usage = Usage(dollars=update.number("cost", "amount"))
            return Measured(key="cost", usage=usage, continues=False)
        case "tool_call":
            return Measured(key="", usage=Usage())
        case _:
            return None


def _read_usage(usage: JsonEvent) -> Usage:
    return Usage(
        input_tokens=usage.count("inputTokens") or usage.count("input_tokens"),
        output_tokens=usage.count("outputTokens") or usage.count("output_tokens"),
    )


def _chunk_text(message: JsonEvent) -> str:
    return message.text("params", "update", "content", "text")


class AcpAgent(CliAgent):
    def __init__(self, setup: AgentSetup) -> None:
        if not setup.settings.command:
            raise SettingsError(
                f"agent.{setup.name}.command: there is no program to talk to",
                hint=f'[agent.{setup.name}] command = ["gemini", "--acp"]',
            )
        super().__init__(Acp(), setup)
