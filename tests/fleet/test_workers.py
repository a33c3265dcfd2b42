"""Workers as processes: they take queued runs, go on with those of dead ones, and give theirs back."""

import json
import random
import signal
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from fleet_world import wait_for
from needs import rarely
from small_disks import full, mounted

__all__ = ["mounted"]

AGENT = """
import json, os, sys, time
sys.stdin.read()
time.sleep(float(os.environ.get("PAUSE") or 0))
print(json.dumps({"findings": [], "summary": "fine"}))
"""


def test_a_queued_run_is_driven_by_a_worker_with_a_clone_of_its_own(fleet):
    run = fleet.enqueue("feature")
    assert fleet.job(run).state == "queued"
    assert "queued" in fleet.command("list")
    assert json.loads(fleet.command("status", run, "--json"))["state"] == "queued"
    worker = fleet.start_worker("a")
    fleet.wait_ended(run)
    fleet.check_once(run)
    assert fleet.calls == ["technical", "fixer"]
    assert fleet.job(run).worker == worker.id
    assert list((worker.home / "workers" / "1" / "mirrors").iterdir())
    document = json.loads(fleet.command("status", run, "--json"))
    assert document["state"] == "ended"


@pytest.mark.parametrize(
    "kind", rarely("attempted", "committed", "resumed", "reviewed", "published", "ended")
)
def test_another_worker_goes_on_with_what_one_did_and_was_killed_before_it_wrote_it_down(
    fleet, kind
):
    fleet.hold(kind)
    run = fleet.enqueue("feature")
    first = fleet.start_worker("a")
    session = fleet.wait_held()
    assert kind not in fleet.kinds(run)
    first.kill()
    fleet.end_session(session)
    answered = list(fleet.calls)
    second = fleet.start_worker("b")
    fleet.wait_ended(run)
    fleet.check_once(run)
    assert fleet.job(run).worker == second.id
    assert sorted(fleet.calls) == ["fixer", "technical"], f"paid twice after {answered}"


def test_a_worker_that_was_stopped_past_its_lease_writes_nothing_and_ends_its_agents(fleet):
    program = fleet.folder / "agent.py"
    program.write_text(AGENT)
    fleet.push("feature")
    flags = {
        "agents.use": "robot",
        "agents.sandbox": "false",
        "agent.robot.kind": "command",
        "agent.robot.command": f"{sys.executable},{program}",
        "agent.robot.env.PAUSE": "0",
    }
    run = fleet.enqueue_here(**flags)
    settings = [word for pair in flags.items() for word in ("--set", "=".join(pair))]
    slow = fleet.start_worker("slow", *settings, "--set", "agent.robot.env.PAUSE=3600")
    fleet.wait_kind(run, "begun")
    wait_for(lambda: find_processes(str(program)))
    slow.signal(signal.SIGSTOP)
    fresh = fleet.start_worker("fresh", *settings)
    fleet.wait_ended(run)
    assert fleet.job(run).worker == fresh.id
    before = fleet.kinds(run)
    assert find_processes(str(program)), "the stopped worker's agent is still there"
    slow.signal(signal.SIGCONT)
    wait_for(lambda: "was taken over" in slow.lines)
    wait_for(lambda: not find_processes(str(program)))
    assert fleet.kinds(run) == before
    assert fleet.job(run).worker == fresh.id
    assert slow.process.poll() is None, "it goes on with other runs"


def find_processes(program):
    """Return the processes of this machine that were started with this program as an argument."""
    mark = f"\0{program}\0"
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found += [process.name] if mark.encode() in (process / "cmdline").read_bytes() else []
        except OSError:
            continue  # it is gone by now
    return found


def test_a_drained_worker_gives_back_what_does_not_end_and_another_goes_on(fleet):
    fleet.play(seconds=3)
    first = fleet.start_worker("a", "--drain", "0")
    run = fleet.enqueue("feature")
    fleet.wait_kind(run, "begun")
    status, health = read_health(first)
    assert (status, health["runs"]) == (200, [run])
    first.signal(signal.SIGTERM)
    assert first.process.wait(timeout=30) == 0
    job = fleet.job(run)
    assert (job.state, job.priority, job.deaths) == ("queued", 1, 0)
    assert fleet.kinds(run)[-1] == "interrupted"
    assert fleet.state.workers.list_all() == []
    fleet.start_worker("b")
    fleet.wait_ended(run)
    fleet.check_once(run)


def test_a_drained_worker_takes_no_more_and_lets_its_run_end(fleet):
    fleet.play(seconds=3)
    run = fleet.enqueue("feature")
    later = fleet.enqueue("other")
    worker = fleet.start_worker("a", "--width", "1", "--drain", "60")
    fleet.wait_kind(run, "begun")
    worker.signal(signal.SIGTERM)
    wait_for(lambda: read_health(worker)[0] == 503)
    assert worker.process.wait(timeout=60) == 0
    fleet.check_once(run)
    assert fleet.job(later).state == "queued"


def test_the_second_signal_stops_a_worker_at_once(fleet):
    fleet.play(seconds=30)
    worker = fleet.start_worker("a", "--drain", "60")
    run = fleet.enqueue("feature")
    fleet.wait_kind(run, "begun")
    worker.signal(signal.SIGTERM)
    wait_for(lambda: "once more to stop at once" in worker.lines)
    worker.signal(signal.SIGTERM)
    assert worker.process.wait(timeout=10) == 128 + signal.SIGTERM
    assert fleet.job(run).state == "running", "others take it when the lease ends"


def read_health(worker):
    """Return the status and what a worker tells of itself."""
    assert worker.id
    try:
        with urllib.request.urlopen(worker.health, timeout=10) as told:
            return told.status, json.load(told)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_a_running_run_is_stopped_and_a_queued_one_taken_out_by_the_same_command(fleet):
    fleet.play(seconds=30)
    fleet.start_worker("a", "--width", "1")
    run = fleet.enqueue("feature")
    fleet.wait_kind(run, "begun")
    queued = fleet.enqueue("other")
    for each in (queued, run):
        assert "is stopped" in fleet.command("stop", each, "--by", "ada")
        wait_for(lambda each=each: fleet.job(each).state == "stopped")
        assert fleet.kinds(each)[-1] == "interrupted"


def test_a_run_that_asks_waits_and_workers_go_on_with_it_after_the_answer(fleet):
    flow = fleet.folder / "flow.yaml"
    flow.write_text(flow.read_text().replace("on_limit: go-on", "on_limit: ask"))
    fleet.play(fixes=False)
    run = fleet.enqueue("feature")
    fleet.start_worker("a")
    wait_for(lambda: fleet.job(run).state == "waiting")
    assert "is queued" in fleet.command("answer", run, "a", "--by", "ada")
    fleet.wait_ended(run)
    assert fleet.kinds(run).count("answered") == 1


def test_the_queue_holds_no_login_of_a_remote(fleet):
    fleet.push("feature")
    for url, shown in (
        ("https://ada:hunter2@example.org/shop.git", "https://example.org/shop.git"),
        ("https://ghp_token@example.org/shop.git", "https://example.org/shop.git"),
        ("ssh://git@example.org/shop.git", "ssh://git@example.org/shop.git"),
        ("git@example.org:shop.git", "git@example.org:shop.git"),
    ):
        fleet.repo.git("config", "remote.origin.url", url)
        fleet.repo.git("update-ref", "refs/remotes/origin/feature", "HEAD")
        run = fleet.enqueue_here(**fleet.robot)
        assert fleet.job(run).source == shown


def test_a_newer_push_supersedes_the_queued_run_of_its_branch(fleet):
    old = fleet.enqueue("feature")
    other = fleet.enqueue("other")
    new = fleet.enqueue("feature")
    states = [fleet.job(run).state for run in (old, other, new)]
    assert states == ["superseded", "queued", "queued"]


def test_a_run_that_no_worker_can_fetch_is_stuck_after_ten_tries_with_the_reason(fleet):
    run = fleet.enqueue("feature")
    gone = str(fleet.folder / "gone.git")
    fleet.base.execute("UPDATE jobs SET source = %s, deaths = 9, done = 1", (gone.encode(),))
    fleet.start_worker("a")
    wait_for(lambda: fleet.job(run).state == "stuck")
    assert "gone.git" in fleet.job(run).note
    told = json.loads(fleet.command("queue", "--json"))
    assert [(job["run"], job["state"]) for job in told["runs"]] == [(run, "stuck")]
    assert [worker["alive"] for worker in told["workers"]] == [True]
    assert "gone.git" in fleet.command("queue").replace("\n", "")
    source = str(fleet.repo.root / ".git")
    fleet.base.execute("UPDATE jobs SET source = %s", (source.encode(),))
    fleet.command("resume", run, "--queue")
    fleet.wait_ended(run)
    fleet.command("resume", run, "--queue", "--json", code=2)


def test_a_worker_whose_disk_is_full_takes_no_run_until_there_is_room(fleet, mounted):
    home = mounted("fleet/a", "size=96m")
    filler = full(home, leave=1_000_000)
    run = fleet.enqueue("feature")
    worker = fleet.start_worker("a")
    wait_for(lambda: "no more runs are taken" in worker.lines)
    status, health = read_health(worker)
    assert (status, health["runs"]) == (503, [])
    assert "64 MB" in health["why"]
    filler.unlink()
    fleet.wait_ended(run)
    fleet.check_once(run)
    assert fleet.job(run).deaths == 0


def test_a_worker_that_breaks_off_every_run_pauses_and_the_runs_end_elsewhere(fleet):
    """It has another object store than the others; the runs are not to blame, nor stuck."""
    wrong = fleet.folder / "wrong"
    wrong.mkdir()
    runs = [fleet.enqueue("feature"), fleet.enqueue("other")]
    broken = fleet.start_worker("a", "--width", "1", PUNCHLIST_OBJECTS=str(wrong))
    wait_for(lambda: "no run is taken for 5 s" in broken.lines)
    status, health = read_health(broken)
    assert status == 503
    assert "2 runs in a row broke off here" in health["why"]
    fleet.start_worker("b")
    fleet.wait_ended(*runs)
    assert fleet.job(runs[1]).deaths == 0


@pytest.mark.soak
def test_a_run_that_breaks_off_because_the_disk_is_full_goes_on_at_another_worker(fleet, mounted):
    """It is not a run that ends its workers: no death is counted."""
    mounted("fleet/a", "size=72m")
    fleet.repo.git("config", "core.compression", "0")
    fleet.repo.commit({"large.bin": random.Random(1).randbytes(80_000_000)})
    run = fleet.enqueue("feature")
    first = fleet.start_worker("a")
    wait_for(lambda: "was given back" in first.lines)
    second = fleet.start_worker("b")
    fleet.wait_ended(run)
    fleet.check_once(run)
    job = fleet.job(run)
    assert (job.deaths, job.worker) == (0, second.id)


def test_what_a_queue_cannot_do_is_told(fleet):
    fleet.push("feature")
    ran = fleet.command("run", "--queue", "--follow", code=2)
    assert ran == ""
    fleet.command("run", "--label", "gpu", code=2)
    fleet.repo.write("shop.py", "import os\n")
    fleet.repo.git("add", "--all")
    fleet.command("run", "--queue", "--staged", "--no-checks", code=2)
    fleet.command("--store", "", "run", "--queue", "--no-checks", code=2)
    fleet.command("--store", "", "worker", code=6)
