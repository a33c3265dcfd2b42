"""Port of a coding agent: asked in a folder, it streams output and answers with text."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from punchlist.model.item.usage import Usage

OUTSIDE = "outside"
"""The kind of an agent that punchlist does not start: it comes for its tasks by itself."""


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
    """One question to an agent. `label` identifies it within the run: its answer is kept in the
    journal and not paid for again.
    """

    role: str
    label: str
    prompt: str
    folder: Path
    writes: bool = False
    """Whether it may change files in the folder; whoever asks without this compares the folder
    afterwards.
    """
    schema: dict[str, Any] | None = None
    """JSON Schema of the answer, for agents that can be held to one."""
    session: str = ""
    """An earlier conversation to go on with, as a reply named it; an agent that cannot starts anew.
    """
    items: tuple[int, ...] = ()
    """The numbers of the items that it is about, where it must say of each what became of it."""
    fork: bool = False
    """Go on in a copy of the session: others do the same side by side."""


class Task(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an outside agent is asked. `id` is made of the question: the same one asked again after
    a kill is the same task.
    """

    id: str
    agent: str
    """The name of the agent that it is for, as the settings have it."""
    role: str
    label: str
    prompt: str
    folder: str
    writes: bool = False
    schema: dict[str, Any] | None = None
    items: tuple[int, ...] = ()


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of one question. Without `failed` the agent ended normally; its text
    is only a claim.
    """

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
    transcript: str = ""
    """The artifact that has the whole conversation, as the agent printed it."""
    tries: int = 1


Hear = Callable[[str], None]
"""Is told what the agent says while it works, in pieces."""


class Agent(Protocol):
    @property
    def name(self) -> str: ...

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        """Ask and wait for the end or the deadline; no process is left. Failures are returned, not
        raised.
        """
        ...
