"""What a run takes over from earlier runs of its repository."""

from msgspec import Struct

from punchlist.model.item.item import Item


class Debt(Struct, frozen=True):
    """An item that an earlier run could not file with the tracker."""

    run: str
    item: Item

    @property
    def name(self) -> str:
        return f"{self.run}/{self.item.number}"


class Dismissal(Struct, frozen=True):
    """A user's earlier dismissal of a fingerprint. `run`: where, or the path of the shared file."""

    by: str
    why: str
    run: str

    @property
    def where(self) -> str:
        return self.run if "/" in self.run else f"run {self.run}"
