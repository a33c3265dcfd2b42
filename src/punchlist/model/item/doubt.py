"""What an agent wants to know of a person before an item is worked on, and what the person said."""

from msgspec import Struct


class Doubt(Struct, frozen=True, omit_defaults=True):
    """`id` is the item's code and a number ("F003-q1"); `context` is why it matters."""

    id: str
    item: int
    question: str
    context: str = ""
    answer: str = ""
    by: str = ""
