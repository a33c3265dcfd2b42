"""What an action cost."""

from msgspec import Struct


class Usage(Struct, frozen=True, omit_defaults=True):
    seconds: float = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0
    checks: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.seconds + other.seconds,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.dollars + other.dollars,
            self.checks + other.checks,
        )
