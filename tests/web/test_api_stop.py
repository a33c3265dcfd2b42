"""Stopping over HTTP, whoever drives the run; and a server that is told to stop with runs, readers and agents at work."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import warm

pytest.importorskip("litestar")
from reading import ledger
from sites import QUICK
from workbench import fix, fixer, review

from needs import rarely
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.drive.background import STOPPED
from punchlist.model.ledger import events as ev

LONG = {**review("mean"), "seconds": 300}
"""A reviewer that thinks for five minutes."""
BIG = "261115-000000"


def until(true, what: str, seconds: float = 60):
    """What came of it, once it is something."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if found := true():
            return found
        time.sleep(0.05)
    raise AssertionError(what)


def in_a_terminal(site, folder) -> "subprocess.Popen[bytes]":
    command = [
        sys.executable,
        "-m",
        "punchlist",
        "run",
        "--workflow",
        "accountable",
        "--set",
        "analyzers.enabled=ruff",
    ]
    return subprocess.Popen(
        command, cwd=folder, env=site.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def running(client) -> str:
    return next(
        (run["id"] for run in client.get("/api/runs").json()["runs"] if run["state"] == "running"),
        "",
    )


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
        assert "stop" not in [
            each["name"] for each in client.get(f"/api/runs/{run}/artifacts").json()
        ]
        told = subprocess.run(
            warm.command("stop", run, "--by", "ada"),
            cwd=bench.repo.root, env=site.env, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert told.returncode == 0, told.stderr
        assert client.get(f"/api/runs/{run}").json()["state"] == "interrupted"


def stubborn(bench, mark: str) -> None:
    """Hires a program that does not hear when it is asked to end, and has a child that does not either."""
    deaf = f"trap '' TERM INT HUP; sleep {mark} & sleep {mark}"
    use = f'[agents]\nuse = ["deaf"]\n[agent.deaf]\nkind = "command"\ncommand = {json.dumps(["/bin/sh", "-c", deaf])}\n'
    (bench.folder / "settings.toml").write_text(use)


def big(store: SqliteStore, bench) -> None:
    """A run with an event that fits into no buffer on the way."""
    ledger(store, BIG, str(bench.repo.root / ".git"), 3)
    store.append(BIG, "9", "", ev.StepDone(verb="x" * 16_000_000), 9.0)


def at_work(mark: str) -> list[str]:
    """Processes of this machine that were started with this mark."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found += [process.name] if mark.encode() in (process / "cmdline").read_bytes() else []
        except OSError:
            continue  # it is gone by now
    return found


def opened(site, path: str, until: bytes = b"\r\n\r\n") -> socket.socket:
    """A stream that is asked for, and was read so far."""
    raw = socket.create_connection(("127.0.0.1", site.port), timeout=60)
    raw.sendall(
        f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {site.tokens['read']}\r\n\r\n".encode()
    )
    read = raw.recv(4096)
    assert read.startswith(b"HTTP/1.1 200"), read
    while until not in read:
        read += raw.recv(4096)
    return raw


def last_of(client, run: str) -> dict:
    return client.get(f"/api/runs/{run}/events", params={"limit": 500}).json()["events"][-1]


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *rarely(signal.SIGINT, signal.SIGHUP)], ids=lambda each: each.name
)
def test_a_signal_ends_the_server_in_good_order_whatever_is_at_work(bench, site, number):
    mark = f"{86400 + number}.{site.folder.stat().st_ino}"
    stubborn(bench, mark)
    repository = site.start().register(bench.repo.root)
    with SqliteStore.open(site.home) as store:
        big(store, bench)
    with site.client("run") as client:
        run = client.post(
            "/api/runs", json={"repository_id": repository, "workflow": "accountable"}
        ).json()["id"]
        until(lambda: at_work(mark), "the agent is at work")
        with (
            opened(site, f"/api/runs/{run}/stream") as reading,
            opened(site, f"/api/runs/{BIG}/stream", b"xxx"),
        ):
            began = time.monotonic()
            assert site.end(number) == 0
            assert time.monotonic() - began < 25
            assert b"interrupted" in b"".join(iter(lambda: reading.recv(65536), b"")), (
                "who reads is told so"
            )
    assert until(lambda: not at_work(mark), "nothing is left running")
    assert "Traceback" not in site.log.read_text()
    with site.start().client("read") as client:
        assert last_of(client, run)["event"]["reason"] == STOPPED


def test_a_second_signal_ends_the_server_at_once(bench, site):
    mark = f"86500.{site.folder.stat().st_ino}"
    stubborn(bench, mark)
    repository = site.start().register(bench.repo.root)
    with site.client("run") as client:
        client.post("/api/runs", json={"repository_id": repository, "workflow": "accountable"})
    until(lambda: at_work(mark), "the agent is at work")
    with SqliteStore.open(site.home) as store:
        big(store, bench)
    with opened(
        site, f"/api/runs/{BIG}/stream", b"xxx"
    ):  # for one who does not read it would wait some seconds
        os.kill(site.pid, signal.SIGINT)
        assert site.end(signal.SIGTERM) in (128 + signal.SIGINT, 128 + signal.SIGTERM)
    assert until(lambda: not at_work(mark), "nothing is left running")


def test_runs_of_a_killed_server_are_named_and_gone_on_with_only_on_request(bench, site):
    bench.play(LONG)
    body = {"repository_id": site.start().register(bench.repo.root), "workflow": "accountable"}
    with site.client("run") as client:
        stopped = client.post("/api/runs", json=body).json()["id"]
        assert client.post(f"/api/runs/{stopped}/cancel").json()["state"] == "interrupted"
        killed = client.post("/api/runs", json=body).json()["id"]
        site.kill()
    bench.play(review(), review(role="spec"), fixer(fix("mean")))
    with site.start().client("read") as client:
        told = site.log.read_text().rpartition("listening on")[2]
        assert "1 run left in the middle:" in told
        assert killed in told
        assert stopped not in told, "a person wanted that"
        assert client.get(f"/api/runs/{killed}").json()["state"] == "stopped"
    assert site.end(signal.SIGTERM) == 0
    with site.start(*QUICK, "--resume").client("read") as client:
        assert "going on with 1 run:" in site.log.read_text()
        until(
            lambda: client.get(f"/api/runs/{killed}").json()["state"] == "ended",
            "it goes on to its end",
        )
        assert client.get(f"/api/runs/{stopped}").json()["state"] == "interrupted"
    assert site.end() == 0
    site.start()
    assert "left in the middle" not in site.log.read_text().rpartition("listening on")[2]


def test_a_run_that_cannot_go_on_keeps_no_other_from_it(bench, site):
    bench.play(LONG)
    body = {"repository_id": site.start().register(bench.repo.root), "workflow": "accountable"}
    with site.client("run") as client:
        killed = client.post("/api/runs", json=body).json()["id"]
        subprocess.run(
            ["git", "clone", "--quiet", bench.repo.root, site.folder / "gone"], check=True
        )
        site.register(site.folder / "gone")
        site.kill()
    bench.play(review(), review(role="spec"), fixer(fix("mean")))
    with SqliteStore.open(site.home) as store:
        ledger(store, "261115-gone", str(site.folder / "gone" / ".git"), 3)
    shutil.rmtree(site.folder / "gone")
    with site.start(*QUICK, "--resume").client("read") as client:
        until(
            lambda: client.get(f"/api/runs/{killed}").json()["state"] == "ended",
            "it goes on to its end",
        )
        until(
            lambda: "run 261115-gone does not go on" in site.log.read_text(), "the other is named"
        )
