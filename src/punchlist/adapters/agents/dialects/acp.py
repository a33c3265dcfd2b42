"""Any agent that speaks the Agent Client Protocol: JSON-RPC on its standard streams, and we are the
client.

The protocol has no read-only mode, no schema and no limits, and some agents do not ask before they
edit: what was asked for is told in every way there is (a mode, permissions, no writing through us),
and holds by the walls and the comparing around it.
"""

from msgspec.structs import replace

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import Call, CliAgent, Desk, Seat, Told
from punchlist.adapters.agents.dialects.acp_client import (
    LOAD,
    MODE,
    OPTIONAL,
    PATIENCE,
    PROMPT,
    SESSION,
    Client,
)
from punchlist.adapters.agents.json_lines import Event, events
from punchlist.adapters.process.run import Ran
from punchlist.errors import SettingsError
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import Ask, Trouble

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
    "max_tokens": Trouble.LIMIT,
    "max_turn_requests": Trouble.LIMIT,
    "refusal": Trouble.OTHER,
    "cancelled": Trouble.TIMEOUT,
}


class Acp:
    """The dialect: what the agent wrote, read again as a whole when it is over."""

    program = ""
    keys: tuple[str, ...] = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
    cumulative: tuple[str, ...] = ()

    def call(self, ask: Ask, desk: Desk) -> Call:
        client = Client(ask, desk.settings.timeout * PATIENCE)
        return Call(
            arguments=(),
            stdin="",
            env={"OPENCODE_DISABLE_PROJECT_CONFIG": "1"},
            client=client,
            hidden=_HIDDEN,
        )

    def piece(self, event: Event) -> str:
        return (
            _said(event)
            if event.text("params", "update", "sessionUpdate") == "agent_message_chunk"
            else ""
        )

    def told(self, ran: Ran, ask: Ask) -> Told:
        return told(ran.stdout, ran.stderr.decode(errors="replace"), ask.session)


def told(output: bytes, errors: str = "", session: str = "") -> Told:
    """What the answer to our prompt was, and what was said and opened on the way there."""
    so_far = _Heard(session)
    for heard in events(output):
        if heard.has("method"):
            so_far.noticed(heard)
        elif heard.has("error") and heard.count("id") not in OPTIONAL:
            return so_far.failed(heard.at("error"))
        elif heard.count("id") in (LOAD, SESSION):
            so_far = _Heard(
                heard.text("result", "sessionId") or session
            )  # what came before is a loaded session's past
        elif heard.count("id") == MODE:
            so_far = _Heard(so_far.session)
        elif heard.count("id") == PROMPT:
            return so_far.ended(heard.at("result"))
    return Told(
        failed=errors.strip()[-500:] or "it ended before there was an answer",
        trouble=Trouble.CUT,
        session=so_far.session,
    )


class _Heard:
    """What a conversation has brought so far; `said` has a piece for every stretch between two tool
    calls.
    """

    def __init__(self, session: str) -> None:
        self.session = session
        self._said: list[list[str]] = [[]]
        self._opened: list[str] = []
        self._tools: set[str] = set()
        self._usage = Usage()

    def noticed(self, heard: Event) -> None:
        update = heard.at("params", "update")
        match update.text("sessionUpdate") or heard.text("method"):
            case "agent_message_chunk":
                self._said[-1].append(_said(heard))
                self._usage += _counted(update.at("_meta", "usage"))
            case "tool_call" | "tool_call_update":
                self._worked(update)
            case "usage_update":
                self._usage = replace(
                    self._usage, dollars=update.number("cost", "amount") or self._usage.dollars
                )
            case "fs/read_text_file":
                self._opened.append(heard.text("params", "path"))

    def _worked(self, update: Event) -> None:
        if (tool := update.text("toolCallId")) not in self._tools:
            self._tools.add(tool)
            self._said.append([])
        if update.text("kind") == "read":
            self._opened += [location.text("path") for location in update.items("locations")]

    def failed(self, error: Event) -> Told:
        said = " ".join(
            filter(None, (error.text("message"), error.text("data") or error.json("data")))
        )
        trouble = Trouble.AUTH if error.number("code") == _AUTH else troubles.of_error(said)
        text = said or "it answered with an error that says nothing"
        return Told(
            failed=text, trouble=trouble, session=self.session, retry_after=troubles.wait_told(said)
        )

    def ended(self, result: Event) -> Told:
        why = result.text("stopReason")
        # Some tell it at the end, some with every piece.
        told_last = next((result.at(*path) for path in _USAGE if result.has(*path)), None)
        usage = (
            self._usage
            if told_last is None
            else replace(_counted(told_last), dollars=self._usage.dollars)
        )
        told = Told(
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
                trouble=_STOPPED.get(why, Trouble.OTHER),
            )
        )


def _counted(usage: Event) -> Usage:
    return Usage(
        input_tokens=usage.count("inputTokens") or usage.count("input_tokens"),
        output_tokens=usage.count("outputTokens") or usage.count("output_tokens"),
    )


def _said(heard: Event) -> str:
    return heard.text("params", "update", "content", "text")


class AcpAgent(CliAgent):
    def __init__(self, seat: Seat) -> None:
        if not seat.settings.command:
            raise SettingsError(
                f"agent.{seat.name}.command: there is no program to talk to",
                hint=f'[agent.{seat.name}] command = ["gemini", "--acp"]',
            )
        super().__init__(Acp(), seat)
