"""The outside agent: a task lies in the mailbox until one comes for it, answers it, or it is too late."""

import asyncio
import os
import subprocess
import sys
import tempfile
from dataclasses import replace as with_
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from seating import seat, tree

from punchlist.adapters.agents.outside.agent import NO_MAILBOX, OutsideAgent
from punchlist.adapters.agents.outside.mailbox import MailAnswer, Mailbox
from punchlist.app.start.role_assignment import assign_roles
from punchlist.errors import StoreError, UsageError
from punchlist.ports.agent import AgentTrouble, Ask, Task
from punchlist.settings import load_settings
from punchlist.workflow.loader import load_workflow

LONG = 60


def agent(folder: Path, **own) -> tuple[OutsideAgent, Mailbox]:
    mail = folder / "state" / "run" / "tasks"
    sitting = seat(folder, "outside", **{"silence": LONG, "timeout": LONG, **own})
    return OutsideAgent(with_(sitting, place=replace(sitting.place, mail=mail))), Mailbox(mail)


def question(folder: Path, label="fix/1", prompt="Fix F001", **more) -> Ask:
    return Ask(
        role="fixer",
        label=label,
        prompt=prompt,
        folder=tree(folder),
        writes=True,
        items=(1,),
        **more,
    )


async def laid(box: Mailbox, count=1):
    async with asyncio.timeout(LONG):
        while len(found := box.list_open("outside")) < count:  # noqa: ASYNC110 - what is waited for is a file
            await asyncio.sleep(0.02)
    return found


def test_the_answer_that_is_laid_beside_the_task_is_the_reply(tmp_path):
    one, box = agent(tmp_path)
    heard: list[str] = []

    async def story():
        asked = asyncio.create_task(one.ask(question(tmp_path), heard.append))
        (task,) = await laid(box)
        assert (task.role, task.prompt, task.writes, task.items) == (
            "fixer",
            "Fix F001",
            True,
            (1,),
        )
        assert Path(task.folder) == tree(tmp_path)
        with box.take(task.id, "ann"):
            assert box.hand_in(task.id, MailAnswer(text='{"outcomes": []}', by="ann")) == ""
        return await asked

    reply = asyncio.run(story())
    assert (reply.agent, reply.text, reply.failed) == ("outside", '{"outcomes": []}', "")
    assert (tmp_path / "state" / "run" / reply.transcript).is_file()
    assert heard[0].endswith("waits for outside")
    assert box.list_open("outside") == ()


def test_only_its_owner_may_read_what_lies_there(tmp_path):
    one, box = agent(tmp_path)

    async def story():
        asked = asyncio.create_task(one.ask(question(tmp_path), lambda _: None))
        (task,) = await laid(box)
        box.hand_in(task.id, MailAnswer(text="done"))
        await asked

    asyncio.run(story())
    files = [path for path in (tmp_path / "state" / "run" / "tasks").rglob("*") if path.is_file()]
    assert files
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_a_task_is_one_agents_alone_until_it_gives_it_back(tmp_path):
    one, box = agent(tmp_path)

    async def story():
        asked = asyncio.create_task(one.ask(question(tmp_path), lambda _: None))
        (task,) = await laid(box)
        first = box.take(task.id, "ann")
        assert first is not None
        assert box.take(task.id, "bob") is None
        assert box.holder(task.id).run == "ann"
        first.release()
        second = box.take(task.id, "bob")
        assert second is not None
        box.hand_in(task.id, MailAnswer(text="bob's", by="bob"))
        second.release()
        return await asked

    assert asyncio.run(story()).text == "bob's"


def test_whoever_is_killed_has_given_its_task_back(tmp_path):
    one, box = agent(tmp_path)
    code = (
        "import sys, time; from pathlib import Path; from punchlist.adapters.agents.outside.mailbox import Mailbox\n"
        "lease = Mailbox(Path(sys.argv[1])).take(sys.argv[2], 'gone'); print('mine', flush=True); time.sleep(600)"
    )

    async def story():
        asked = asyncio.create_task(one.ask(question(tmp_path), lambda _: None))
        (task,) = await laid(box)
        command = [sys.executable, "-c", code, str(tmp_path / "state" / "run" / "tasks"), task.id]
        child = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        assert await child.stdout.readline() == b"mine\n"
        assert box.take(task.id, "ann") is None
        child.kill()
        await child.wait()
        with box.take(task.id, "ann"):
            box.hand_in(task.id, MailAnswer(text="ann's"))
        return await asked

    assert asyncio.run(story()).text == "ann's"


def test_what_nobody_takes_is_an_agent_that_is_silent(tmp_path):
    one, box = agent(tmp_path, silence=0.3)
    reply = asyncio.run(one.ask(question(tmp_path), lambda _: None))
    assert (reply.trouble, reply.text) == (AgentTrouble.SILENT, "")
    (folder,) = (tmp_path / "state" / "run" / "tasks").iterdir()
    _nobody_waits(box, folder.name)


def test_what_is_taken_and_not_answered_in_time_is_an_agent_that_timed_out(tmp_path):
    one, box = agent(tmp_path, timeout=0.3)

    async def story():
        asked = asyncio.create_task(one.ask(question(tmp_path), lambda _: None))
        (task,) = await laid(box)
        with box.take(task.id, "ann"):
            return task, await asked

    task, reply = asyncio.run(story())
    assert (reply.trouble, reply.text) == (AgentTrouble.TIMEOUT, "")
    _nobody_waits(box, task.id)


def _nobody_waits(box: Mailbox, name: str) -> None:
    assert box.find(name) is None
    assert "no longer waits" in box.hand_in(name, MailAnswer(text="too late"))
    assert box.read_answer(name) is None


def test_the_first_answer_stands(tmp_path):
    one, box = agent(tmp_path)

    async def story():
        asked = asyncio.create_task(one.ask(question(tmp_path), lambda _: None))
        (task,) = await laid(box)
        said = [
            box.hand_in(task.id, MailAnswer(text=text)) for text in ("first", "first", "second")
        ]
        return said, await asked

    said, reply = asyncio.run(story())
    assert said == ["", "", "it has an answer already"]
    assert reply.text == "first"


def test_what_is_stopped_half_way_leaves_the_task_and_hears_the_answer_later(tmp_path):
    one, box = agent(tmp_path)

    async def story():
        asked = asyncio.create_task(one.ask(question(tmp_path), lambda _: None))
        (task,) = await laid(box)
        asked.cancel()
        await asyncio.wait({asked})
        assert box.list_open("outside") == ()  # nobody waits for it now
        assert box.has_label("fix/1")
        assert box.hand_in(task.id, MailAnswer(text="meanwhile")) == ""
        return await one.ask(question(tmp_path), lambda _: None)

    assert asyncio.run(story()).text == "meanwhile"


@pytest.mark.parametrize(
    "odd", ["folder", "link to itself", "link to what has no end", "pipe", "half", "deep", "huge"]
)
def test_an_answer_that_is_no_file_of_ours_is_not_there_and_holds_nobody_up(tmp_path, odd):
    one, box = agent(tmp_path, silence=0.3)

    async def story():
        asked = asyncio.create_task(one.ask(question(tmp_path), lambda _: None))
        (task,) = await laid(box)
        _odd(odd, tmp_path / "state" / "run" / "tasks" / task.id / "answer.json")
        return await asked

    reply = asyncio.run(story())
    assert (reply.text, reply.trouble) == ("", AgentTrouble.SILENT)


def _odd(kind: str, path: Path) -> None:
    match kind:
        case "folder":
            path.mkdir()
        case "link to itself":
            path.symlink_to(path)
        case "link to what has no end":
            path.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(path)
        case "half":
            path.write_text('{"text": "do')
        case "deep":
            path.write_bytes(b'{"text": "done", "more": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")
        case _:
            with path.open("wb") as file:
                file.truncate(65 << 20)


def test_a_task_that_goes_by_another_name_than_its_folder_leads_nowhere(tmp_path):
    one, box = agent(tmp_path, silence=0.3)
    folder = tmp_path / "state" / "run" / "tasks" / ("b" * 12)
    folder.mkdir(parents=True)
    planted = Task(
        id="../../..", agent="outside", role="fixer", label="fix/1", prompt="", folder=""
    )
    (folder / "task.json").write_bytes(msgspec.json.encode(planted))
    asyncio.run(one.ask(question(tmp_path), lambda _: None))
    assert box.find("b" * 12) is None
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == set()
    assert {path.name for path in (tmp_path / "state").iterdir() if path.is_file()} == set()


@pytest.mark.parametrize("file", ["prompt.md", "task.json"])
def test_a_task_that_cannot_be_laid_is_told_as_what_a_person_can_act_on(tmp_path, file):
    one, box = agent(tmp_path, silence=0.3)
    asyncio.run(one.ask(question(tmp_path), lambda _: None))
    (folder,) = (tmp_path / "state" / "run" / "tasks").iterdir()
    for path in (folder / "task.json", folder / file):
        path.unlink(missing_ok=True)
    (folder / file / "in the way").mkdir(parents=True)
    with pytest.raises(StoreError, match=f"{file} cannot be written"):
        asyncio.run(one.ask(question(tmp_path), lambda _: None))
    assert box.list_open("outside") == ()


def test_an_answer_that_is_far_too_long_is_refused_not_swallowed(tmp_path):
    one, box = agent(tmp_path)

    async def story():
        asked = asyncio.create_task(one.ask(question(tmp_path), lambda _: None))
        (task,) = await laid(box)
        assert "at most" in box.hand_in(task.id, MailAnswer(text="x" * 10_000_001))
        assert box.hand_in(task.id, MailAnswer(text="short")) == ""
        return await asked

    assert asyncio.run(story()).text == "short"


def test_the_same_question_is_the_same_task_and_another_one_takes_its_place(tmp_path):
    one, box = agent(tmp_path)

    async def story():
        first = asyncio.create_task(one.ask(question(tmp_path), lambda _: None))
        (task,) = await laid(box)
        first.cancel()
        await asyncio.wait({first})
        again = asyncio.create_task(
            one.ask(question(tmp_path, prompt="Fix F001, shorter"), lambda _: None)
        )
        (other,) = await laid(box)
        assert other.id != task.id
        assert box.find(task.id) is None
        box.hand_in(other.id, MailAnswer(text="done"))
        return await again

    assert asyncio.run(story()).text == "done"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["hand in one", "hand in two", "withdraw", "take", "give back", "ask again"]
        ),
        max_size=12,
    )
)
def test_whatever_happens_a_task_is_answered_once_or_withdrawn_and_never_both(moves):
    with tempfile.TemporaryDirectory() as folder:
        box = Mailbox(Path(folder) / "tasks")
        task = Task(
            id="0123456789ab",
            agent="outside",
            role="fixer",
            label="fix",
            prompt="Fix",
            folder=folder,
        )
        with box.post_task(task):
            pass
        leases, first = [], ""
        for move in moves:
            match move.split():
                case ["hand", "in", text]:
                    wrong = box.hand_in(task.id, MailAnswer(text=text))
                    first = first or ("" if wrong else text)
                case ["withdraw"]:
                    came = box.withdraw(task.id, "late")
                    assert (came.text if came else "") == first
                case ["take"]:
                    lease = box.take(task.id, "ann")
                    assert (lease is None) == bool(leases)
                    leases += [lease] if lease else []
                case ["give", "back"]:
                    while leases:
                        leases.pop().release()
                case ["ask", "again"]:
                    with box.post_task(task):
                        pass
            answer = box.read_answer(task.id)
            assert (answer.text if answer else "") == first
            assert not (answer and box.withdrawal_reason(task.id))
        while leases:
            leases.pop().release()


def test_a_half_written_or_foreign_file_is_no_task(tmp_path):
    _, box = agent(tmp_path)
    for name, content in {
        "0123456789ab": b'{"id": "01',
        "ba9876543210": b"[]",
        "..": b"{}",
    }.items():
        folder = tmp_path / "state" / "run" / "tasks" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "task.json").write_bytes(content)
    assert box.list_open("outside") == ()
    assert [box.find(name) for name in ("0123456789ab", "ba9876543210", "..", "../tasks")] == [
        None
    ] * 4


def test_outside_of_a_run_it_says_that_it_is_not_asked(tmp_path):
    reply = asyncio.run(
        OutsideAgent(seat(tmp_path, "outside")).ask(question(tmp_path), lambda _: None)
    )
    assert (reply.failed, reply.trouble) == (NO_MAILBOX, AgentTrouble.OTHER)


def test_whoever_fixes_outside_does_not_judge_its_own_work():
    flags = {"agents.use": "outside"}
    crew = assign_roles(load_workflow("proven"), load_settings(None, flags, {}).settings)
    assert crew == {"technical": ("outside",), "fixer": ("outside",)}
    with pytest.raises(UsageError, match="challenger"):
        assign_roles(load_workflow("challenged"), load_settings(None, flags, {}).settings)
    others = {"agents.use": "outside,dry"}
    assert assign_roles(load_workflow("proven"), load_settings(None, others, {}).settings)[
        "challenger"
    ] == ("dry",)
