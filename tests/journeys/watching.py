"""A watcher that keeps the events of a run."""


class Watch:
    def __init__(self) -> None:
        self.events = []
        self.pieces = []

    def handle_start(self, place, action): ...

    def handle_output(self, label, piece):
        self.pieces.append((label, piece))

    def handle_event(self, entry, run):
        self.events.append(entry.event)

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]
