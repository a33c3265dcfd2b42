"""Description of a tool: name, input, output, required role, effects."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from punchlist.app.access import Role
from punchlist.mcp.session import Caller, McpSession

Do = Callable[[McpSession, Any, Caller], Awaitable[Struct]]


class McpTool(Struct, frozen=True, kw_only=True):
    """`idempotent`: a second call changes nothing more. `destructive`: may change
    the user's files.
    """

    name: str
    title: str
    about: str
    takes: type[Struct]
    gives: type[Struct]
    do: Do
    role: Role = Role.RUN
    idempotent: bool = False
    destructive: bool = False

    @property
    def reads(self) -> bool:
        return self.role is Role.READ
