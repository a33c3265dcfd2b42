"""What was fixed outside of any run is never called fixed: it is gone, still there, or nobody can say."""

import json
import sys

from workbench import finding

UNUSED = {"shop/extra.py": "import os\nimport sys\n\n\ndef now():\n    return 1\n"}


async def reviewed(agent, **more):
    told = await agent.call("start_run", workflow="review", kind="all", **more)
    await agent.ended(told["id"])
    items = (await agent.call("list_items", run=told["id"]))["items"]
    return told["id"], {item["title"]: item["number"] for item in items}


def named(numbers, word):
    return next(number for title, number in numbers.items() if word in title)


def test_what_the_analyzer_does_not_see_again_is_gone_and_the_checks_say_how_it_stands(place):
    place.repo.commit(UNUSED, "two unused imports")

    async def story(agent):
        run, numbers = await reviewed(agent)
        os, sys = named(numbers, "`os`"), named(numbers, "`sys`")
        before = await agent.call("look_again", run=run, items=[os, sys])
        place.repo.commit(
            {"shop/extra.py": "# moved down\n\n\nimport sys\n\n\ndef now():\n    return 1\n"},
            "one is gone",
        )
        after = await agent.call("look_again", run=run, items=[os, sys])
        proof = await agent.call("ask_for_proof", run=run, items=[os])
        return before, after, proof

    before, after, proof = place.do(story)
    assert [each["seen"] for each in before["verdicts"]] == ["still there", "still there"]
    assert [each["seen"] for each in after["verdicts"]] == ["gone", "still there"]
    assert after["verdicts"][0]["said"] == f"not seen again by ruff at {place.repo.head[:12]}"
    assert after["checks"] == ["tests: green: 1 test passes"]
    assert proof["items"][0]["proven"] is False
    assert "look_again" in proof["next"]


MINDER = """
import pathlib, sys
word, *names = [name for name in sys.argv[1:] if name != "--all"]
for name in names:
    for number, line in enumerate(pathlib.Path(name).read_text().splitlines(), 1):
        if word in line and ("hush" not in line or "--all" in sys.argv):
            print(f"{name}:{number}: error: {word} is not for here [{word}]")
"""
CUSTOM = """
[[analyzers.custom]]
name = "{name}"
command = ["{python}", "-Ic", {tool}, "{word}", "{{files}}"]
files = ["shop/extra.py"]
{more}
"""


def custom(name, word, more=""):
    return CUSTOM.format(name=name, python=sys.executable, tool=json.dumps(MINDER), word=word, more=more)  # fmt: skip


def test_what_is_only_hidden_from_the_tools_is_not_called_gone(place):
    """By a comment of ruff, by one that only its tool knows, and by what steers tools."""
    place.settings(custom("minder", "now", 'unsuppressed = ["--all"]') + custom("stranger", "sys"))
    text = UNUSED["shop/extra.py"]
    place.repo.commit(UNUSED, "two unused imports")

    async def story(agent):
        run, numbers = await reviewed(agent)
        items = [numbers["now is not for here"], numbers["sys is not for here"]]
        os = named(numbers, "`os`")
        quiet = text.replace("now():", "now():  # hush").replace("sys\n", "re\n")
        place.repo.commit({"shop/extra.py": quiet.replace("os\n", "os  # noqa\n")}, "hidden")
        hidden = await agent.call("look_again", run=run, items=[os, *items])
        steered = {"ruff.toml": '[lint.per-file-ignores]\n"shop/*" = ["F401"]\n'}
        place.repo.commit({"shop/extra.py": text.replace("import sys\n", ""), **steered}, "ignored")
        ignored = await agent.call("look_again", run=run, items=[os, named(numbers, "`sys`")])
        return hidden, ignored

    hidden, ignored = place.do(story, "--set", "analyzers.enabled=ruff,minder,stranger")
    noqa, hush, strange = hidden["verdicts"]
    assert [each["seen"] for each in (noqa, hush, strange)] == ["still there", "still there", "unknown"]  # fmt: skip
    said = "hidden, not gone: with its suppressions switched off and its configuration as it was, "
    assert noqa["said"] == f"{said}ruff reports it at shop/extra.py:1"
    assert hush["said"] == f"{said}minder reports it at shop/extra.py:5"
    assert (
        "stranger is silent, and that proves nothing: its settings say neither" in strange["said"]
    )
    assert [each["seen"] for each in ignored["verdicts"]] == ["still there", "gone"]
    assert ignored["verdicts"][0]["said"] == noqa["said"]


def test_a_look_from_before_has_seen_nothing_again(place):
    place.repo.commit({"shop/extra.py": "import os\n"}, "one unused import")

    async def story(agent):
        first, _ = await reviewed(agent)
        look = (await agent.call("look_again", run=first, items=[1]))["look"]
        place.repo.commit(UNUSED, "one more")
        run, numbers = await reviewed(agent, force=True)
        return await agent.refused(
            "look_again", run=run, items=[named(numbers, "`sys`")], look=look
        )

    assert "is no second look at these items" in place.do(story)


def test_what_a_person_or_an_agent_reported_nobody_can_look_at_again(place):
    async def story(agent):
        told = await agent.call("submit_findings", findings=[finding("cheapest")])
        await agent.ended(told["run"])
        return await agent.call("look_again", run=told["run"], items=[1])

    looked = place.do(story)
    assert looked["verdicts"][0]["seen"] == "unknown"
    assert "does not look again by itself" in looked["verdicts"][0]["said"]


def test_a_file_that_is_gone_is_not_looked_at_and_not_called_fixed(place):
    place.repo.commit(UNUSED, "two unused imports")

    async def story(agent):
        run, numbers = await reviewed(agent)
        place.repo.git("rm", "--quiet", "shop/extra.py")
        place.repo.git("commit", "--quiet", "--message", "gone")
        return await agent.call("look_again", run=run, items=[named(numbers, "`os`")])

    verdict = place.do(story)["verdicts"][0]
    assert (verdict["seen"], "is not in that commit" in verdict["said"]) == ("unknown", True)


def test_something_very_like_it_in_the_same_file_is_not_called_gone(place):
    place.repo.commit({"shop/extra.py": "import os\n"}, "one unused import")

    async def story(agent):
        run, numbers = await reviewed(agent)
        place.repo.commit(
            {"shop/extra.py": "def now():\n    import json\n\n    return 1\n"}, "another one"
        )
        return await agent.call("look_again", run=run, items=[named(numbers, "`os`")])

    assert place.do(story)["verdicts"][0]["seen"] != "gone"


def test_found_checks_run_only_where_a_person_allowed_them(place):
    place.settings("", checks=False)
    place.repo.commit(
        {**UNUSED, "pyproject.toml": "[tool.pytest.ini_options]\n"}, "tests that can be found"
    )

    async def story(agent):
        run, numbers = await reviewed(agent)
        return (await agent.call("look_again", run=run, items=[named(numbers, "`os`")]))["checks"]

    (said,) = place.do(story)
    assert said == "checks were not run: they are not allowed (punchlist allow)"


def test_an_admin_may_let_checks_run_and_apply_what_is_proven(place):
    place.settings("", checks=False)
    place.repo.commit(UNUSED, "two unused imports")

    async def story(agent):
        started = await agent.call("start_run", allow_checks=True, paths=["shop"])
        ended = await agent.ended(started["id"])
        assert ended["by_status"]["fixed"] == 2
        return await agent.call("apply_run", run=started["id"])

    told = place.do(story, "--role", "admin")
    assert "applied" in told["message"]
    assert "import" not in (place.repo.root / "shop/extra.py").read_text()


def test_an_escalation_that_dismisses_items_needs_a_person(place):
    place.settings('[agent.me]\nkind = "outside"\n[role.adversarial]\nagents = ["me"]\n')

    async def story(agent):
        run = (await agent.call("start_run", workflow="converge"))["id"]
        while (told := await agent.call("next_task", run=run, wait_seconds=30))[
            "state"
        ] == "under way":
            if task := told["task"]:  # three rounds in which nothing was reviewed to the end
                await agent.call("answer_task", task=task["task"], answer={"mumble": "mumble"})
        status = await agent.call("run_status", run=run)
        assert status["state"] == "waiting for an answer"
        assert "answer_question" in status["next"]
        refused = await agent.refused("answer_question", run=run, choice="b")
        wrong = await agent.refused("answer_question", run=run, choice="z")
        done = await agent.call("answer_question", run=run, choice="a")
        await agent.ended(run)
        return status, refused, wrong, done

    status, refused, wrong, _ = place.do(story, "--as", "me")
    assert set(status["question"]["choices"]) == {"a", "b", "c"}
    assert "takes a person's word" in refused
    assert '"z" is no answer' in wrong
