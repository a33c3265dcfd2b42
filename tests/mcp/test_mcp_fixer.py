"""Another agent as the fixer: what it says is a claim, what punchlist sees decides, and no task is lost or done twice."""

import asyncio
import json
import os
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from clients import QUICK, edit
from workbench import EDITS, finding

from needs import rarely
from punchlist.adapters.store.lease import FileLeases

FIXED = {"id": "F001", "outcome": "fixed", "explanation": "done", "confidence": 100}


async def begun(agent, *names, workflow="verified", **more):
    told = await agent.call(
        "submit_findings",
        findings=[finding(name) for name in names],
        workflow=workflow,
        play=["fixer"],
        **more,
    )
    return told["run"]


async def deferring(agent, run):
    """Puts off everything that is asked, until the run has ended."""
    while (told := await agent.call("next_task", run=run, wait_seconds=30))["state"] != "ended":
        if task := told["task"]:
            outcomes = [
                {"id": each["code"], "outcome": "deferred", "explanation": "I tried"}
                for each in task["items"]
            ]
            await agent.call("report_outcomes", task=task["task"], outcomes=outcomes)
    return await agent.call("run_status", run=run)


def nothing(folder):
    """Changes no file."""


def judged_mildly(folder):
    edit(folder, "tests/test_prices.py", "total([1, 2]), 3", "total([1, 2]), total([1, 2])")


def silenced(folder):
    edit(folder, "shop/prices.py", "return sorted(prices)[-1]", "return sorted(prices)[-1]  # noqa")


def broken(folder):
    edit(folder, "shop/prices.py", "return sum(prices)", "return 0")


@pytest.mark.parametrize(
    ("lie", "why"),
    [
        (judged_mildly, "tests/test_prices.py"),
        *rarely(
            (nothing, "no change was made"),
            (silenced, "instead of curing them"),
            (broken, "test_total"),
        ),
    ],
)
def test_a_client_that_lies_gets_no_proof(place, lie, why):
    async def story(agent):
        run = await begun(agent, "cheapest")
        task = await agent.task(run)
        lie(task["folder"])
        await agent.call("report_outcomes", task=task["task"], outcomes=[FIXED])
        ended = await deferring(agent, run)
        return run, ended, (await agent.call("ask_for_proof", run=run, items=[1]))["items"][0]

    run, ended, proof = place.do(story)
    assert (proof["proven"], proof["proofs"], proof["commit"]) == (False, [], "")
    assert why in " ".join(attempt["why"] for attempt in proof["attempts"])
    assert ended["outcome"] == "leftovers"
    assert place.repo.git("for-each-ref", f"refs/heads/punchlist/{run}") == ""


def test_what_it_does_not_mention_is_deferred_and_comes_back(place):
    async def story(agent):
        run = await begun(agent, "cheapest", "mean")
        task = await agent.task(run)
        assert [each["code"] for each in task["items"]] == ["F001", "F002"]
        edit(task["folder"], *EDITS["cheapest"])
        told = await agent.call("report_outcomes", task=task["task"], outcomes=[FIXED])
        assert told["not_mentioned"] == ["F002"]
        again = await agent.task(run)
        assert [each["code"] for each in again["items"]] == ["F002"]
        assert "no status was given" in again["prompt"]
        item = await agent.call("show_item", run=run, item=1)
        await agent.call("cancel_run", run=run)
        return item

    item = place.do(story)
    assert item["status"] == "fixed"
    assert [each["kind"] for each in item["proofs"]] == ["checked", "claim"]
    assert item["findings"][0]["code"]
    assert item["change"]["hunks"]


def test_a_task_is_one_clients_alone_and_free_again_when_that_one_is_gone(place):
    async def story(first):
        run = await begun(first, "cheapest")
        async with place.agent(name="second") as second:
            mine = await first.task(run)
            told = await second.call("next_task", run=run, wait_seconds=1)
            assert (told["task"], told["state"]) == (None, "under way")
            assert "another client" in await second.refused(
                "report_outcomes", task=mine["task"], outcomes=[FIXED]
            )
            assert (await first.task(run))["task"] == mine["task"]
            assert (await first.call("give_back", task=mine["task"]))["message"].startswith(
                "given back"
            )
            assert (await second.task(run))["task"] == mine["task"]
            edit(mine["folder"], *EDITS["cheapest"])
            await second.call("report_outcomes", task=mine["task"], outcomes=[FIXED])
        assert (await first.ended(run))["by_status"]["fixed"] == 1

    place.do(story)


def test_after_a_kill_the_same_task_is_there_again_and_what_was_answered_is_not_asked_twice(place):
    async def until_killed():
        with suppress(Exception):  # the pipe breaks in whatever way it likes
            async with place.agent() as agent:
                run = await begun(agent, "cheapest", "page")
                first = await agent.task(run)
                second = await agent.task(run, another=True)
                assert first["task"] != second["task"]
                paths = {task["items"][0]["path"]: task for task in (first, second)}
                done, open_ = paths["shop/prices.py"], paths["shop/pages.py"]
                for name, task in (("cheapest", done), ("page", open_)):
                    edit(task["folder"], *EDITS[name])
                said = {**FIXED, "id": done["items"][0]["code"]}
                await agent.call("report_outcomes", task=done["task"], outcomes=[said])
                status = partial(agent.call, "run_status", run=run)
                while "claims 1 item" not in str((await status())["story"]):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                seen.extend((run, done, open_))
                os.kill(FileLeases(place.home).find_holder(run).pid, signal.SIGKILL)
                await agent.call("run_status", run=run)

    async def after(agent):
        run, done, open_ = seen
        assert (await agent.call("run_status", run=run))["state"] == "killed"
        assert "resume_run" in (await agent.call("next_task", run=run, wait_seconds=0))["next"]
        await agent.call("resume_run", run=run)
        task = await agent.task(run)
        assert (task["task"], task["folder"]) == (open_["task"], open_["folder"])
        edit(
            task["folder"], EDITS["page"][0], EDITS["page"][2], EDITS["page"][2]
        )  # what was done before the kill is there
        await agent.call(
            "report_outcomes",
            task=task["task"],
            outcomes=[{**FIXED, "id": task["items"][0]["code"]}],
        )
        ended = await agent.ended(run)
        assert ended["by_status"]["fixed"] == 2
        claims = [
            each
            for each in (await agent.call("run_status", run=run))["story"]
            if "claims" in each["said"]
        ]
        assert len(claims) == 2
        assert done["task"] in await agent.refused(
            "report_outcomes", task=done["task"], outcomes=[FIXED]
        )

    seen: list = []
    asyncio.run(until_killed())
    place.do(after)


def test_an_answer_that_came_while_nobody_drove_the_run_is_heard_when_it_goes_on(place):
    async def story(agent):
        run = await begun(agent, "cheapest")
        task = await agent.task(run)
        edit(task["folder"], *EDITS["cheapest"])
        stopped = await agent.call("cancel_run", run=run)
        assert (stopped["state"], "resume_run" in stopped["next"]) == ("stopped", True)
        assert (await agent.call("next_task", run=run, wait_seconds=0))["task"] is None
        await agent.call("report_outcomes", task=task["task"], outcomes=[FIXED])
        await agent.call("resume_run", run=run)
        assert (await agent.ended(run))["by_status"]["fixed"] == 1

    place.do(story)


def test_a_run_that_another_client_drives_can_be_stopped_and_taken_over(place):
    async def story(first):
        run = await begun(first, "cheapest")
        task = await first.task(run)
        await first.call("give_back", task=task["task"])
        async with place.agent(name="second") as second:
            assert (await second.call("cancel_run", run=run))["state"] == "stopped"
            assert (await first.call("run_status", run=run))["state"] == "stopped"
            assert (await second.call("resume_run", run=run))["state"] == "under way"
            mine = await second.task(run)
            assert mine["task"] == task["task"]
            edit(mine["folder"], *EDITS["cheapest"])
            await second.call("report_outcomes", task=mine["task"], outcomes=[FIXED])
            assert (await second.ended(run))["by_status"]["fixed"] == 1

    place.do(story)


def test_a_task_that_nobody_takes_is_an_agent_that_is_silent(place):
    async def story(agent):
        run = await begun(agent, "cheapest")
        ended = await agent.ended(run)
        return ended, await agent.call("show_item", run=run, item=1)

    ended, item = place.do(story, "--set", "agents.silence=0.4")
    assert ended["by_status"]["fixed"] == 0
    assert "silent: no client worked on the task" in item["attempts"][0]["why"]


def test_a_client_that_is_ended_by_a_signal_leaves_a_run_that_can_be_resumed(place):
    async def story():
        with suppress(Exception):  # the pipe breaks in whatever way it likes
            async with place.agent() as agent:
                runs.append(await begun(agent, "cheapest"))
                await agent.task(runs[0])
                os.kill(FileLeases(place.home).find_holder(runs[0]).pid, signal.SIGTERM)
                await agent.call("run_status", wait_seconds=60, after=10**6)

    runs: list[str] = []
    asyncio.run(story())
    place.do(lambda agent: _resumed(agent, runs[0], ("stopped",)))


def test_a_client_that_goes_away_in_the_middle_leaves_a_run_that_can_be_resumed(place):
    async def story(agent):
        run = await begun(agent, "cheapest")
        await agent.task(run)
        return run

    run = place.do(story)
    place.do(
        lambda agent: _resumed(agent, run, ("stopped", "killed"))
    )  # killed where it was too slow for its client


async def _resumed(agent, run, states):
    assert (await agent.call("run_status", run=run))["state"] in states
    await agent.call("resume_run", run=run)
    task = await agent.task(run)
    edit(task["folder"], *EDITS["cheapest"])
    await agent.call("report_outcomes", task=task["task"], outcomes=[FIXED])
    assert (await agent.ended(run))["by_status"]["fixed"] == 1


def test_another_agent_reviews_and_a_third_one_judges(place):
    place.settings(
        '[agent.me]\nkind = "outside"\n[agent.judge]\nkind = "outside"\n'
        '[role.technical]\nagents = ["judge"]\n[role.fixer]\nagents = ["me"]\n[role.challenger]\nagents = ["judge"]\n'
        '[role.reproducer]\nagents = ["judge"]\n'
    )

    async def judging(judge, run):
        reviews = iter(([finding("cheapest")], *[[]] * 9))
        while (told := await judge.call("next_task", run=run, wait_seconds=30))["state"] != "ended":
            if task := told["task"]:
                assert "report_outcomes" not in task["answer_with"]
                role = task["role"]
                answer = (
                    {"findings": next(reviews), "summary": "looked"}
                    if role == "technical"
                    else JUDGED[role]
                )
                await judge.call("answer_task", task=task["task"], answer=answer)

    async def story(me):
        run = (await me.call("start_run", workflow="proven"))["id"]
        async with place.agent("--as", "judge") as judge:
            side = asyncio.create_task(judging(judge, run))
            task = await me.task(run)
            assert task["role"] == "fixer"
            assert "answer_task" not in task["answer_with"]
            edit(task["folder"], *EDITS["cheapest"])
            await me.call("report_outcomes", task=task["task"], outcomes=[FIXED])
            ended = await me.ended(run)
            await side
        shown = [task["prompt"]]
        for what in ("ledger.jsonl", "report.md", "report.json", "items/1"):
            shown += [
                part.text
                for part in (
                    await me.client.read_resource(f"punchlist://runs/{run}/{what}")
                ).contents
            ]
        return ended, await me.call("show_item", run=run, item=1), shown

    ended, item, shown = place.do(story, "--as", "me")
    assert ended["by_status"]["fixed"] == 1
    assert {"reproduced", "reviewed"} <= {each["kind"] for each in item["proofs"]}
    assert '"kind":"reproduced"' in shown[1]
    assert not any("Whispered" in text for text in shown), "no fixer is ever shown a private test"
    assert item["score"]["score"] == 97


PRIVATE = (
    "import unittest\n\nfrom shop.prices import cheapest\n\n\n"
    "class Whispered(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(cheapest([3, 1, 2]), 1)\n"
)
JUDGED = {
    "challenger": {"issues": {"F001": {"score": 97, "status": "SOLVED", "feedback": "good"}}},
    "reproducer": {"tests": [{"id": "F001", "path": "tests/test_whisper.py", "content": PRIVATE}]},
}


def test_whoever_fixes_cannot_judge(place):
    async def story(agent):
        return await agent.refused("start_run", play=["fixer", "challenger"])

    assert "the fixer does not judge" in place.do(story)


def test_a_run_in_a_terminal_may_have_an_outside_agent_too(place):
    async def story(agent):
        program, *_ = place.command()
        line = [
            program,
            "-m",
            "punchlist",
            "run",
            "--workflow",
            "verified",
            "--json",
            "--findings",
            str(file),
            *QUICK,
        ]
        flags = ("--set", "role.fixer.agents=outside")
        terminal = await asyncio.create_subprocess_exec(
            *line,
            *flags,
            cwd=place.repo.root,
            env=place.env,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        while not (await agent.call("list_runs"))["total"]:  # noqa: ASYNC110 - it is asked
            await asyncio.sleep(0.1)
        task = await agent.task("last")
        edit(task["folder"], *EDITS["cheapest"])
        await agent.call("report_outcomes", task=task["task"], outcomes=[FIXED])
        out, _ = await terminal.communicate()
        return out

    file = place.folder / "found.json"
    file.write_text(json.dumps([finding("cheapest")]))
    assert json.loads(place.do(story))["report"]["outcome"] == "fixed"


def test_whoever_fixes_does_not_confirm_it_by_keeping_silent_in_another_role(place):
    """It reviews, fixes, and reviews again: that is one conversation, and no fresh pair of eyes."""

    async def story(agent):
        run = (await agent.call("start_run", play=["technical", "fixer"]))["id"]
        found = [finding("cheapest")]
        while (told := await agent.call("next_task", run=run, wait_seconds=30))[
            "state"
        ] == "under way":
            task = told["task"]
            if task and task["role"] == "fixer":
                edit(task["folder"], *EDITS["cheapest"])
                await agent.call("report_outcomes", task=task["task"], outcomes=[FIXED])
            elif task:
                await agent.call(
                    "answer_task",
                    task=task["task"],
                    answer={"findings": found, "summary": "looked"},
                )
                found = []
        return (await agent.call("ask_for_proof", run=run, items=[1]))["items"][0]

    proof = place.do(story)
    assert proof["proven"]
    assert "reviewed" not in [each["kind"] for each in proof["proofs"]]


def there(folders):
    return [folder for folder in folders if Path(folder).exists()]


def test_the_folder_of_a_task_is_never_another_trees(place):
    """Whoever goes on writing where it was asked to look writes into nothing that is judged later."""

    async def story(agent):
        run = (await agent.call("start_run", play=["technical", "fixer"]))["id"]
        folders, found = [], [finding("cheapest")]
        while (told := await agent.call("next_task", run=run, wait_seconds=30))[
            "state"
        ] == "under way":
            if (task := told["task"]) is None:
                continue
            assert not there(folders)
            folders.append(task["folder"])
            if task["role"] == "fixer":
                edit(task["folder"], *EDITS["cheapest"])
                await agent.call("report_outcomes", task=task["task"], outcomes=[FIXED])
            else:
                await agent.call(
                    "answer_task",
                    task=task["task"],
                    answer={"findings": found, "summary": "looked"},
                )
                found = []
        return folders

    folders = place.do(story)
    assert len(folders) == len(set(folders)) == 3
    assert not there(folders)
