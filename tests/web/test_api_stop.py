"""Stopping over HTTP, whoever drives the run; and a server that is told to stop with runs, readers and agents at work."""

import subprocess
import sys
import time

import pytest

pytest.importorskip("litestar")
from workbench import review

pytestmark = pytest.mark.slow
LONG = {**review("mean"), "seconds": 300}
"""A reviewer that thinks for five minutes."""


def until(true, what: str, seconds: float = 60):
    """What came of it, once it is something."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if found := true():
            return found
        time.sleep(0.05)
    raise AssertionError(what)


def in_a_terminal(site, folder) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "punchlist", "run", "--workflow", "accountable", "--set", "analyzers.enabled=ruff"]
    return subprocess.Popen(command, cwd=folder, env=site.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def running(client) -> str:
    return next((run["id"] for run in client.get("/api/runs").json()["runs"] if run["state"] == "running"), "")


def test_a_run_in_a_terminal_is_stopped_over_http_and_resumed_by_the_server(bench, site):
    bench.play(LONG)
    site.start().register(bench.repo.root)
    with in_a_terminal(site, bench.repo.root) as terminal, site.client("run") as client:
        run = until(lambda: running(client), "it began")
        stopped = client.post(f"/api/runs/{run}/cancel")
        assert stopped.status_code == 200, stopped.text
        assert stopped.json()["state"] == "interrupted"
        _, told = terminal.communicate(timeout=30)
        assert terminal.returncode == 130
        assert b"goes on" in told
        last = client.get(f"/api/runs/{run}/events", params={"limit": 500}).json()["events"][-1]
        assert (last["kind"], last["event"]["reason"]) == ("interrupted", "stopped by runer")
        assert client.post(f"/api/runs/{run}/cancel").status_code == 409
        assert client.post(f"/api/runs/{run}/resume").json()["state"] == "running"
        assert "stop" not in [each["name"] for each in client.get(f"/api/runs/{run}/artifacts").json()]
        told = subprocess.run(
            [sys.executable, "-m", "punchlist", "stop", run, "--by", "ada"],
            cwd=bench.repo.root, env=site.env, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert told.returncode == 0, told.stderr
        assert client.get(f"/api/runs/{run}").json()["state"] == "interrupted"
