"""Events from the midst of an action, such as a refused connection; the engine records them."""

from collections.abc import Callable
from contextlib import suppress

from punchlist.errors import StoreError
from punchlist.model.ledger.events import AnyEvent

Record = Callable[[AnyEvent], None]


class Notices:
    """Hands events over to the engine at once; keeps them while there is none."""

    def __init__(self) -> None:
        self._waiting: list[AnyEvent] = []
        self._record: Record | None = None

    def subscribe(self, record: Record) -> None:
        self._record = record
        self._hand_over()

    def post(self, event: AnyEvent) -> None:
        """Record an event. If the store fails, the engine notices with its own next event; this one
        is tried again with the next notice.
        """
        self._waiting.append(event)
        with suppress(StoreError):
            self._hand_over()

    def _hand_over(self) -> None:
        while self._waiting and self._record:
            self._record(self._waiting[0])
            del self._waiting[0]
