"""Port of a coding agent: asked in a folder, it streams output and answers with text."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from punchlist.model.item.usage import Usage

OUTSIDE = "outside"
"""The kind of an agent that punchlist does not start: it fetches its tasks."""
FENCED = "End with one JSON object in a ```json block, and nothing after it"
"""The one instruction about the form of the answer in every prompt of punchlist."""
UNFENCED = "End with one JSON object without a code fence, and nothing after it"
"""The same for a program that takes every fenced block for a file."""
STRUCTURED = "End with one JSON object as your structured output, and nothing after it"
"""The same for a program that holds its model to a JSON Schema in its own way."""


class AgentTrouble(StrEnum):
    """Why there is no answer, read from the agent's own error channel, never from its answer.

    Only RATE_LIMIT and OVERLOADED are worth a retry.
    """

    MISSING = "missing"
    AUTH = "auth"
    RATE_LIMIT = "rate-limit"
    OVERLOADED = "overloaded"
    TOO_LONG = "too-long"
    TIMEOUT = "timeout"
    SILENT = "silent"
    CRASHED = "crashed"
    CUT = "cut"
    """The stream ended before there was a result."""
    LIMIT = "limit"
    """A limit of the agent's own: turns, or money."""
    OTHER = "other"

    @property
    def is_transient(self) -> bool:
        return self in (AgentTrouble.RATE_LIMIT, AgentTrouble.OVERLOADED)


class Ask(Struct, frozen=True, kw_only=True):
    """One question to an agent. The journal keeps the answer by its `label`."""

    role: str
    label: str
    prompt: str
    folder: Path
    writes: bool = False
    """Whether it may change files in the folder; if not, the folder is compared afterwards."""
    schema: dict[str, Any] | None = None
    """JSON Schema of the answer, for agents that can be held to one."""
    session: str = ""
    """An earlier conversation to go on with, as a reply named it."""
    items: tuple[int, ...] = ()
    """Numbers of the items whose outcome it must report."""
    fork: bool = False
    """Go on in a copy of the session, since others do so in parallel."""


class Task(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question to an outside agent. `id` is made of it, so that it is the same after a kill."""

    id: str
    agent: str
    """The agent's name in the settings."""
    role: str
    label: str
    prompt: str
    folder: str
    writes: bool = False
    schema: dict[str, Any] | None = None
    items: tuple[int, ...] = ()


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of one question. Without `failed` the agent ended normally; its text is a claim."""

    agent: str
    text: str = ""
    """Its last word; for a structured answer the JSON."""
    session: str = ""
    usage: Usage = Usage()
    failed: str = ""
    trouble: AgentTrouble | None = None
    retry_after: float = 0
    opened: tuple[str, ...] = ()
    """Files its tools were seen to open, relative to the folder."""
    denied: tuple[str, ...] = ()
    """Tool calls that its own program refused to run."""
    transcript: str = ""
    """The artifact that has the whole conversation."""
    tries: int = 1


Hear = Callable[[str], None]
"""Receives the agent's output in pieces while it works."""


class Agent(Protocol):
    @property
    def name(self) -> str: ...

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        """Ask and wait for the end or the deadline; no process is left. Failures are returned, not
        raised.
        """
        ...
