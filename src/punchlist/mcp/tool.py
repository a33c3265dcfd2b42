"""Description of a tool: its function, title, required role and effects."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from punchlist.app.access import Role
from punchlist.mcp.session import Caller, McpSession


class McpTool(Struct, frozen=True):
    """A tool is described by its function `do`: name, docstring, and the types of `args` and of the
    answer. `idempotent`: a second call changes nothing more. `destructive`: may change the user's
    files.
    """

    do: Callable[[McpSession, Any, Caller], Awaitable[Struct]]
    title: str
    role: Role = Role.RUN
    idempotent: bool = False
    destructive: bool = False

    @property
    def name(self) -> str:
        return self.do.__name__

    @property
    def about(self) -> str:
        return " ".join((self.do.__doc__ or "").split())

    @property
    def takes(self) -> type[Struct]:
        kind: type[Struct] = self.do.__annotations__["args"]
        return kind

    @property
    def gives(self) -> type[Struct]:
        kind: type[Struct] = self.do.__annotations__["return"]
        return kind

    @property
    def reads(self) -> bool:
        return self.role is Role.READ
