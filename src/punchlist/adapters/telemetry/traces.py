"""One trace for each run, sent to an OTLP collector: a span for each action, with its cost."""

import secrets
from collections.abc import Mapping
from hashlib import sha256
from importlib import import_module
from typing import Any

from punchlist._version import __version__

_SECONDS = 3
"""How long a collector that does not answer is waited for at the end of a run."""
Value = str | int | float


class _RunIds:
    """Makes ids: the trace has the same one wherever and however often the run is driven."""

    def __init__(self, run: str) -> None:
        self._trace = int.from_bytes(sha256(run.encode()).digest()[:16]) or 1

    def generate_trace_id(self) -> int:
        return self._trace

    def generate_span_id(self) -> int:
        return secrets.randbits(64) or 1

    def is_trace_id_random(self) -> bool:
        return False


def load_library() -> None:
    """Load what traces need, which is slow. Raise ImportError without the extra."""
    import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    import_module("opentelemetry.sdk.trace.export")


class Traces:
    """The spans of one process that drives one run."""

    def __init__(self, url: str, run: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace import set_span_in_context

        named = Resource.create({"service.name": "punchlist", "service.version": __version__})
        self._provider = TracerProvider(
            resource=named, id_generator=_RunIds(run), shutdown_on_exit=False
        )
        exporter = OTLPSpanExporter(endpoint=f"{url.rstrip('/')}/v1/traces", timeout=_SECONDS)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("punchlist")
        self._run = self._tracer.start_span("drive run", attributes={"punchlist.run": run})
        self._inside = set_span_in_context(self._run)
        self._open: dict[tuple[str, str], Any] = {}

    def begin(self, place: str, key: str) -> None:
        about = {"punchlist.place": place, "punchlist.key": key}
        self._open[place, key] = self._tracer.start_span("action", self._inside, attributes=about)

    def end(self, place: str, key: str, kind: str, cost: Mapping[str, Value]) -> None:
        """End the span of an action; one that nothing began is a moment."""
        if (place, key) not in self._open:
            self.begin(place, key)
        span = self._open.pop((place, key))
        span.update_name(kind)
        span.set_attributes({f"punchlist.{name}": value for name, value in cost.items()})
        span.end()

    def close(self) -> None:
        for span in (*self._open.values(), self._run):
            span.end()
        self._provider.shutdown()
