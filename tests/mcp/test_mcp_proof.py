"""What was fixed outside of any run is never called fixed: it is gone, still there, or nobody can say."""

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


def test_what_is_only_hidden_from_the_tools_is_not_called_gone(place):
    place.repo.commit(UNUSED, "two unused imports")

    async def story(agent):
        run, numbers = await reviewed(agent)
        os, sys = named(numbers, "`os`"), named(numbers, "`sys`")
        place.repo.commit(
            {
                "shop/extra.py": UNUSED["shop/extra.py"].replace(
                    "import os", "import os  # noqa: F401"
                )
            },
            "hidden",
        )
        hidden = await agent.call("look_again", run=run, items=[os, sys])
        place.repo.commit(
            {**UNUSED, "ruff.toml": '[lint.per-file-ignores]\n"shop/*" = ["F401"]\n'}, "ignored"
        )
        return hidden, await agent.call("look_again", run=run, items=[os])

    hidden, ignored = place.do(story)
    assert [each["seen"] for each in hidden["verdicts"]] == ["unknown", "still there"]
    assert "is hidden from tools" in hidden["verdicts"][0]["said"]
    assert "what steers tools has changed since: ruff.toml" in ignored["verdicts"][0]["said"]


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
