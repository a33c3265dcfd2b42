"""A dialect: how one agent program is called and its output parsed.

To add an agent, write a dialect and name it in `registry.AGENTS`:

    class Parrot:
        program = "parrot"                 # default; settings may name another
        keys = ("PARROT_API_KEY",)         # variables from the user's environment
        access = ModelAccess(              # its model: variables of key and base URL, usual URL
            ModelEndpoint(keys, "PARROT_BASE_URL", "https://api.parrot.example"),
            hosts=("login.parrot.example",))  # and what it needs where it has no key
        cumulative = ()                    # fields of Usage that count a whole session
        def build_call(self, ask: Ask, context: CallContext) -> AgentCall:
            env = {"PARROT_HOME": str(context.home)}
            return AgentCall(arguments=("--json",), env=env, stdin=ask.prompt)
        def describe_event(self, event: JsonEvent) -> str:  # progress text; often ""
            return event.text("message")
        def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
            return ParsedReply(text=...)   # or failed=..., trouble=classify_error(...)
        metered = True                     # whether it reports usage while it works; if not,
        def make_meter(self, home: Path) -> ReadEvent:  # inherit from `Unmetered`
            return lambda event: Measured(key=event.text("id"), usage=read_usage(event))

`parse_output` also parses what a killed child left: its session, opened files and usage.
Without a result event it uses `troubles.explain_no_result(ran)`. Silence, timeouts,
signals and missing programs are handled by `CliAgent`.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.agents.json_lines import JsonEvent
from punchlist.adapters.agents.model_access import ModelAccess
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.agents.spending import Measured
from punchlist.adapters.process.run import ChildInput, ProcessResult
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import FENCED, STRUCTURED, AgentTrouble, Ask


class CallContext(Struct, frozen=True, kw_only=True):
    """The context of one call: the agent's own folders and its settings."""

    home: Path
    tmp: Path
    settings: AgentSettings
    key: str = ""
    """The name of the key variable that is set, for agents that need it as an argument."""
    base_url: str = ""
    """The value of a variable such as OPENAI_BASE_URL, for agents that do not read one."""
    dollars_left: float = 0
    """What the call may cost, for agents that can be held to it; 0 without a limit."""
    sandboxed: bool = False
    """Whether it runs in a sandbox of ours, in which its own could not be set up."""


class StdioClient(Protocol):
    """Talks with a program that needs more than one message on stdin."""

    def begin(self, stdin: ChildInput) -> None: ...

    def hear(self, piece: bytes) -> None: ...


class AgentCall(Struct, frozen=True, kw_only=True):
    """The command for one question; `files` (name: text) are first written below its home."""

    arguments: tuple[str, ...]
    stdin: str
    env: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    cwd: Path | None = None
    """Where it runs, if not in the folder it is asked about."""
    client: StdioClient | None = None
    hidden: tuple[str, ...] = ()
    """Names in the folder that it would obey, whatever its flags. The sandbox hides them; without
    one the call is not made where such a name exists.
    """


class ParsedReply(Struct, frozen=True, kw_only=True):
    """What a dialect parsed; `failed` is set unless a result event reports success."""

    text: str = ""
    session: str = ""
    usage: Usage = Usage()
    failed: str = ""
    trouble: AgentTrouble | None = None
    retry_after: float = 0
    opened: tuple[str, ...] = ()
    """As the agent named them: absolute, or relative to the folder."""
    denied: tuple[str, ...] = ()
    """Tool calls that the program refused to run."""


ReadEvent = Callable[[JsonEvent], Measured | None]


class AgentDialect(Protocol):
    """How one program is called and its output parsed; see the module docstring."""

    @property
    def program(self) -> str: ...

    @property
    def keys(self) -> tuple[str, ...]: ...

    @property
    def access(self) -> ModelAccess: ...

    @property
    def cumulative(self) -> tuple[str, ...]: ...

    def build_call(self, ask: Ask, context: CallContext) -> AgentCall: ...

    def describe_event(self, event: JsonEvent) -> str: ...

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply: ...

    @property
    def metered(self) -> bool: ...

    def make_meter(self, home: Path) -> ReadEvent:
        """Return what reads usage from the events of one call."""
        ...


class Unmetered:
    """Base of dialects of programs that report their usage at the end only, or never."""

    metered = False

    def make_meter(self, home: Path) -> ReadEvent:
        return lambda event: None


def encode_json(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), separators=(",", ":"))


def option(name: str, value: str) -> tuple[str, ...]:
    """Return an option with its value for a command line; () if the value is empty."""
    return (name, value) if value else ()


def schema_option(name: str, ask: Ask) -> tuple[str, ...]:
    return () if ask.schema is None else (name, encode_json(ask.schema))


def structured_prompt(ask: Ask) -> str:
    """Return the prompt for a program that is given the schema: it must not ask for a fence."""
    return ask.prompt if ask.schema is None else ask.prompt.replace(FENCED, STRUCTURED)


def read_usage(event: JsonEvent) -> Usage:
    usage = event.get("usage")
    return Usage(
        input_tokens=usage.count("input_tokens"), output_tokens=usage.count("output_tokens")
    )


def require_text(reply: ParsedReply) -> ParsedReply:
    """Return a failed reply without text; a reply with an empty text has failed."""
    if not reply.failed and not reply.text.strip():
        reply = replace(reply, failed="its answer is empty", trouble=AgentTrouble.OTHER)
    return replace(reply, text="") if reply.failed else reply
