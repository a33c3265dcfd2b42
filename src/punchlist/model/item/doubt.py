"""An agent's question to the user about an item, and the answer."""

from msgspec import Struct


class Doubt(Struct, frozen=True, omit_defaults=True):
    """`id` is the item's code and a number ("F003-q1"); `context` is why it matters."""

    id: str
    item: int
    question: str
    context: str = ""
    answer: str = ""
    by: str = ""
