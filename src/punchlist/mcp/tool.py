"""What a tool is: a name, what it takes and gives, who may call it, and what it
does to the world.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from punchlist.app.access import Role
from punchlist.mcp.session import Asker, Desk

Do = Callable[[Desk, Any, Asker], Awaitable[Struct]]


class Tool(Struct, frozen=True, kw_only=True):
    """`idempotent`: called twice it does what it does once. `destructive`: something of the user's
    may be changed.
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
