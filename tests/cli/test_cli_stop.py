"""punchlist stop: a run in another terminal stops between two events, as Ctrl-C there would stop it, and can be resumed."""

import asyncio
import json
import subprocess
import time

import pytest

from made import STARTED, made_run
from punchlist.adapters.store.lease import FileLease
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.adapters.store.stop_request import FileStops
from punchlist.app.drive.stop import drive_until_stopped, stop_run
from punchlist.app.session import Session
from punchlist.model.ledger.events import Interrupted, Resumed
from punchlist.model.ledger.run import Run
from punchlist.ports.state import StopRequest

SLOW_TOOL = """
[[analyzers.custom]]
name = "slow"
command = ["sh", "-c", "sleep 300"]
[analyzers]
enabled = ["ruff", "slow"]
"""


@pytest.fixture
def slow(punchlist, tmp_path):
    """A run here waits for a tool that takes five minutes."""
    settings = tmp_path / "slow.toml"
    settings.write_text(SLOW_TOOL)
    punchlist.env["PUNCHLIST_CONFIG"] = str(settings)
    return punchlist


@pytest.fixture
def begun(slow):
    """Starts a command, and waits until the ledger has so many lines; what is left at the end of the test is ended."""
    processes = []

    def start(*arguments: str, entries: int = 3) -> subprocess.Popen[bytes]:
        processes.append(started(slow, *arguments, entries=entries))
        return processes[-1]

    yield start
    for process in processes:
        with process:
            process.kill()


def started(punchlist, *arguments: str, entries: int) -> subprocess.Popen[bytes]:
    process = punchlist.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with SqliteStore.open(punchlist.home, readonly=True) as store:
            if any(row.entries >= entries for row in store.runs()):
                return process
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    raise AssertionError("it did not begin")


def kinds(punchlist) -> list[str]:
    return [
        json.loads(line)["event"]["kind"]
        for line in punchlist("status", "--events").stdout.splitlines()
    ]


def test_a_run_in_another_terminal_is_stopped_and_can_be_resumed(slow, begun):
    running = begun("run", "--all")
    stopped = slow("stop", "--by", "ada")
    _, err = running.communicate(timeout=30)
    assert stopped.returncode == 0, stopped.stderr
    run = slow.json("status")
    assert f"run {run['run']} is stopped; `punchlist resume {run['run']}` goes on" in stopped.stdout
    assert running.returncode == 130
    assert b"goes on" in err
    assert kinds(slow)[-1] == "interrupted"
    assert "stopped by ada" in slow("status", "--events").stdout
    assert FileStops(slow.home / "runs").read(run["run"]) is None
    again = begun("resume", entries=5)
    assert slow("stop", run["run"][:9], "--json").returncode == 0
    again.communicate(timeout=30)
    assert kinds(slow)[3:] == ["interrupted", "resumed", "interrupted"]


def test_where_nothing_is_under_way_that_is_said(slow, begun):
    running = begun("run", "--all")
    slow("stop")
    running.communicate(timeout=30)
    for arguments, said in (((), "no run is under way"), (("last",), "no process drives run")):
        again = slow("stop", *arguments)
        assert again.returncode == 2
        assert said in again.stderr


def test_of_two_runs_under_way_one_must_be_named(slow, begun):
    first = begun("run", "--all")
    (run,) = (each["run"] for each in slow.json("list"))
    with FileLease.acquire(slow.home, "261115-other0"):
        with SqliteStore.open(slow.home) as store:
            event = next(iter(store.read(run))).event
            store.append("261115-other0", "start", "started", event, time.time())
        told = slow("stop")
        assert told.returncode == 2
        assert "2 runs are under way" in told.stderr
    assert slow("stop", run).returncode == 0
    first.communicate(timeout=30)


async def waiting(run: Run) -> Run:
    """A drive that takes for ever, and stops as the engine does."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError as stop:
        return made_run(id=str(stop))
    return run


def test_whoever_drives_goes_on_after_having_obeyed(tmp_path):
    async def main() -> None:
        asyncio.get_running_loop().call_later(
            0.05, FileStops(tmp_path).request, "r", StopRequest("ada")
        )
        ran = await asyncio.wait_for(
            drive_until_stopped(FileStops(tmp_path), FileLease([], "r"), waiting, made_run(id="r")),
            30,
        )
        assert ran.id == "stopped by ada"
        assert FileStops(tmp_path).read("r") is None
        async with asyncio.timeout(
            30
        ):  # a task that still counts as stopped would be stopped here once more
            await asyncio.sleep(0)

    asyncio.run(main())


def test_what_was_wanted_before_it_began_is_not_for_whoever_drives_now(tmp_path):
    FileStops(tmp_path).request("r", StopRequest("ada"))

    async def short(run: Run) -> Run:
        await asyncio.sleep(0.5)
        return run

    assert (
        asyncio.run(
            drive_until_stopped(FileStops(tmp_path), FileLease([], "r"), short, made_run(id="r"))
        ).id
        == "r"
    )
    assert FileStops(tmp_path).read("r") is None


def test_one_who_is_stopping_already_is_not_disturbed(tmp_path):
    """What must be done whole would be left by a second call."""
    left = []

    async def careful(run: Run) -> Run:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            try:
                FileStops(tmp_path).request("r", StopRequest("ada"))
                await asyncio.sleep(0.6)
            except asyncio.CancelledError:
                left.append("something")
        return run

    async def main() -> None:
        task = asyncio.create_task(
            drive_until_stopped(FileStops(tmp_path), FileLease([], "r"), careful, made_run(id="r"))
        )
        await asyncio.sleep(0.05)
        task.cancel()
        assert (await task).id == "r"

    asyncio.run(main())
    assert left == []
    assert FileStops(tmp_path).read("r") is None


def ledger(app: Session, *events: Interrupted | Resumed) -> None:
    app.store.append("r1", "start", "started", STARTED, time.time())
    for event in events:
        seq = len(list(app.store.read("r1")))
        app.store.append("r1", "signal", f"{seq}", event, time.time())


def test_a_stop_that_comes_while_somebody_is_just_resuming_the_run_is_meant_for_them(tmp_path):
    async def main() -> None:
        app = Session(tmp_path, None, {})
        ledger(app, Interrupted(reason="before"))
        with FileLease.acquire(tmp_path, "r1") as lease:
            stopping = asyncio.create_task(stop_run(app, "r1", "ada"))
            while app.state.stops.read("r1") is None:  # noqa: ASYNC110 - what is waited for is a file
                await asyncio.sleep(0.01)
            ledger(app, Resumed(version="1"))
            ran = await drive_until_stopped(app.state.stops, lease, waiting, made_run(id="r1"))
            assert ran.id == "stopped by ada"
            ledger(app, Interrupted(reason=ran.id))
        assert (await stopping).over
        app.close()

    asyncio.run(asyncio.wait_for(main(), 20))


def test_whoever_goes_on_after_the_one_that_was_meant_is_not_stopped(tmp_path):
    async def main() -> None:
        app = Session(tmp_path, None, {})
        ledger(app, Resumed(version="1"))
        with FileLease.acquire(tmp_path, "r1"):
            stopping = asyncio.create_task(stop_run(app, "r1", "ada"))
            while app.state.stops.read("r1") is None:  # noqa: ASYNC110 - what is waited for is a file
                await asyncio.sleep(0.01)
            ledger(app, Interrupted(reason="by itself"), Resumed(version="1"))
            assert (await stopping).over
            assert app.state.stops.read("r1") is None
        app.close()

    asyncio.run(asyncio.wait_for(main(), 20))
