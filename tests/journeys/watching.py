"""A watcher that keeps the events of a run."""


class Watch:
    def __init__(self) -> None:
        self.events = []
        self.pieces = []

    def began(self, place, action): ...

    def heard(self, label, piece):
        self.pieces.append((label, piece))

    def told(self, entry, run):
        self.events.append(entry.event)

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]
