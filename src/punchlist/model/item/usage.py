"""What an action cost."""

from operator import add

from msgspec import Struct
from msgspec.structs import astuple


class Usage(Struct, frozen=True, omit_defaults=True):
    seconds: float = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0
    checks: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*map(add, astuple(self), astuple(other)))
