"""The story that a run's review is about, as the user's own tracker calls it."""

from msgspec import Struct


class Story(Struct, frozen=True, omit_defaults=True):
    id: str = ""
    title: str = ""

    @property
    def label(self) -> str:
        """Return "Story 2.3: Cart totals", without the title if it has none, or ''."""
        return f"Story {self.id}" + (f": {self.title}" if self.title else "") if self.id else ""
