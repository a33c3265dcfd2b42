"""Runs that are queued by the clock."""

import json

from fleet_world import wait_for


def test_a_worker_queues_and_drives_the_run_of_a_schedule_that_is_due(fleet):
    fleet.push("feature")
    settings = [word for pair in fleet.robot.items() for word in ("--set", "=".join(pair))]
    flow = ("--workflow", str(fleet.folder / "flow.yaml"))
    words = ("--cron", "* * * * * *", "--branch", "feature", "--no-checks", *flow)
    fleet.command("schedule", "add", "often", *words, *settings)
    (told,) = json.loads(fleet.command("schedule", "list", "--json"))
    assert (told["name"], told["branch"], told["cron"]) == ("often", "feature", "* * * * * *")
    fleet.start_worker("a", "--width", "1")
    runs = "SELECT run FROM jobs WHERE state = 'ended' AND priority = 4 AND branch = 'feature'"
    (run,) = wait_for(lambda: fleet.base.execute(runs).fetchone())
    fleet.command("schedule", "remove", "often")
    assert json.loads(fleet.command("schedule", "list", "--json")) == []
    fleet.check_once(run)
    started = next(iter(fleet.state.store.read(run))).event
    assert started.change.head == fleet.repo.git("rev-parse", "feature")
    assert started.change.kind == "all"


def test_what_cannot_be_scheduled_is_told(fleet):
    fleet.push("feature")
    night = ("--cron", "0 3 * * *")
    for words in (
        ("add", "n", "--cron", "at night"),
        ("add", "n", *night, "--timezone", "Europe/Nowhere"),
        ("add", "n", *night, "--branch", "gone"),
        ("add", "n", *night, "--set", "agent.robot.env.KEY=secret"),
        ("remove", "n"),
    ):
        fleet.command("schedule", *words, code=2)
    fleet.command("schedule", "add", "n", *night)
    fleet.command("schedule", "add", "n", *night, code=2)
