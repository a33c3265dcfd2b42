"""A run sends one trace to the collector that the user names, and none without one; a collector that is away costs no run."""

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("opentelemetry.sdk", reason="NOT TESTED: the extra telemetry is missing")
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@pytest.fixture
def collector():
    """Yield the address of a collector, and the spans that it got."""
    spans = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            sent = ExportTraceServiceRequest.FromString(body)
            spans.extend(
                span
                for resource in sent.resource_spans
                for scope in resource.scope_spans
                for span in scope.spans
            )
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", spans
        server.shutdown()


def review(repo, home, url, file=""):
    repo.commit({"a.py": "import os\n", **({".punchlist.toml": file} if file else {})})
    env = {**os.environ, "PUNCHLIST_HOME": str(home), "PUNCHLIST_TRACES": url}
    command = [sys.executable, "-m", "punchlist", "run", "--all", "--workflow", "review"]
    command += ["--set", "analyzers.enabled=ruff"]
    return subprocess.run(
        command, cwd=repo.root, env=env, capture_output=True, text=True, check=False
    )


def test_a_run_is_one_trace_with_a_span_for_each_event(repo, tmp_path, collector):
    url, spans = collector
    ran = review(repo, tmp_path / "home", url)
    assert ran.returncode == 1, ran.stderr
    assert len({span.trace_id for span in spans}) == 1
    (root,) = (span for span in spans if not span.parent_span_id)
    assert root.name == "drive run"
    inside = [span for span in spans if span is not root]
    assert {span.parent_span_id for span in inside} == {root.span_id}
    assert {"reviewed", "consolidated", "ended"} <= {span.name for span in inside}
    (looked,) = (span for span in inside if span.name == "reviewed")
    assert looked.end_time_unix_nano > looked.start_time_unix_nano
    ledger = next((tmp_path / "home").glob("ledger.sqlite3")).read_bytes()
    assert url.encode() not in ledger


def test_a_repository_names_no_collector(repo, tmp_path, collector):
    url, spans = collector
    ran = review(repo, tmp_path / "home", "", f'traces = "{url}"\n')
    assert ran.returncode == 1, ran.stderr
    assert spans == []


def test_a_collector_that_is_away_costs_no_run(repo, tmp_path):
    ran = review(repo, tmp_path / "home", "http://127.0.0.1:9")
    assert ran.returncode == 1, ran.stderr
