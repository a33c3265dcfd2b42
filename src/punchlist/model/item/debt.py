"""What an earlier run could not file."""

from msgspec import Struct

from punchlist.model.item.item import Item


class Debt(Struct, frozen=True):
    """An item that an earlier run could not file with the tracker."""

    run: str
    item: Item

    @property
    def name(self) -> str:
        return f"{self.run}/{self.item.number}"
