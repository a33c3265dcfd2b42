"""Traces of runs for OpenTelemetry, where the user's settings name a collector."""

from collections.abc import Iterator
from contextlib import contextmanager

from punchlist.adapters.telemetry.traces import Traces, load_library
from punchlist.engine import Watcher
from punchlist.errors import SettingsError
from punchlist.installed import extra_hint
from punchlist.model.ledger.events import Entry
from punchlist.model.ledger.run import Run
from punchlist.steps import Action


def require_telemetry(url: str) -> None:
    """Raise SettingsError if a collector is named, and what sends traces to it is not installed."""
    if not url:
        return
    try:
        load_library()
    except ImportError as error:
        raise SettingsError(
            f"traces: this needs the extra `telemetry` ({error})",
            hint=f"{extra_hint('telemetry')}, or leave the setting `traces` out",
        ) from error


@contextmanager
def trace_run(watcher: Watcher, url: str, run: str) -> Iterator[Watcher]:
    """Yield a watcher that also sends spans to the collector at `url`, or the same without one."""
    if not url:
        yield watcher
        return
    traces = Traces(url, run)
    try:
        yield _TracingWatcher(watcher, traces)
    finally:
        traces.close()


class _TracingWatcher:
    def __init__(self, watcher: Watcher, traces: Traces) -> None:
        self._watcher = watcher
        self._traces = traces
        self.handle_output = watcher.handle_output
        self.handle_delay = watcher.handle_delay

    def handle_start(self, place: str, action: Action) -> None:
        self._traces.begin(place, action.key)
        self._watcher.handle_start(place, action)

    def handle_event(self, entry: Entry, run: Run) -> None:
        usage = entry.event.usage
        cost = {
            "seq": entry.seq,
            "dollars": usage.dollars,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
        }
        kind = str(entry.event.__struct_config__.tag)
        self._traces.end(entry.place, entry.key, kind, cost)
        self._watcher.handle_event(entry, run)
