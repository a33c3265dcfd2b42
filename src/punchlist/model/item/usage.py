"""What an action cost."""

from operator import add

from msgspec import Struct
from msgspec.structs import astuple

UNKNOWN_COST = (
    "the cost of an agent's call is unknown; set input-price and output-price of that agent"
)


class Usage(Struct, frozen=True, omit_defaults=True):
    seconds: float = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0
    checks: int = 0
    unpriced: int = 0
    """Agent calls whose cost is unknown: neither the agent nor the settings tell a price."""
    cut: int = 0
    """Agent calls that ended before the agent had reported all that they used."""

    @property
    def agents_worked(self) -> bool:
        return any((self.input_tokens, self.output_tokens, self.dollars, self.unpriced, self.cut))

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*map(add, astuple(self), astuple(other)))
