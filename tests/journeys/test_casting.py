"""Who cannot play is told before a run begins, and a dry run shows what would really be asked."""

import json
import sys

import pytest
from shop import Watch
from workbench import finding, review

from punchlist.app.start.dry_run import rehearse_run
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.errors import SettingsError, UsageError


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('[agent.other]\nkind = "clude"\n[role.fixer]\nagents = ["other"]\n', "clude"),
        (
            '[agent.other]\nkind = "scripted"\nscript = "/nowhere/lines.json"\n[role.fixer]\nagents = ["other"]\n',
            "lines.json",
        ),
        ('[role.fixer]\nprompt = "/nowhere/fixer.md"\n', "fixer.md"),
    ],
)
def test_a_run_whose_agents_cannot_be_made_does_not_begin(bench, settings, said):
    bench.play(review("mean"), settings=settings)
    with pytest.raises((SettingsError, UsageError), match=said):
        bench.run()

    async def runs(app):
        return app.runs()

    assert bench.do(runs) == []


def test_a_dry_run_shows_the_prompt_of_the_user(bench):
    (bench.folder / "own.md").write_text("Look hard.\n\n{{ diff }}\n")
    bench.play(review("mean"), settings=f'[role.technical]\nprompt = "{bench.folder / "own.md"}"\n')
    shown = bench.type("run", "--workflow", "verified", "--yes", "--dry-run", "--json").out
    first = json.loads(shown)["prompts"][0]
    assert (first["role"], first["text"].startswith("Look hard.")) == ("technical", True)


def test_a_dry_run_goes_on_to_the_fixer_where_a_person_would_be_asked(bench):
    bench.play(review("mean"))
    (bench.folder / "review.json").write_text(json.dumps({"findings": [finding("mean")]}))
    asked = Request(
        workflow="challenged", allow_checks=True, findings=(str(bench.folder / "review.json"),)
    )

    async def rehearsed(app):
        return await rehearse_run(app, await prepare_run(app, asked), Watch())

    assert [prompt.role for prompt in bench.do(rehearsed)] == [
        "technical",
        "clarifier",
        "planner",
        "fixer",
    ]


def test_one_agent_in_two_roles_has_two_homes_if_one_of_them_judges(bench, tmp_path):
    """The fixer must not find in its own home what it said as the reproducer."""
    asked = tmp_path / "asked"
    script = f'import os, sys\nopen({str(asked)!r}, "a").write(os.environ["PUNCHLIST_ROLE"] + " " + os.environ["HOME"] + "\\n")\n'
    (tmp_path / "robot.py").write_text(script)
    bench.play(agents=())
    settings = bench.folder / "settings.toml"
    text = settings.read_text().replace("use = []", 'use = ["one"]\nsandbox = false')
    command = f'[agent.one]\nkind = "command"\ncommand = ["{sys.executable}", "{tmp_path / "robot.py"}"]\n'
    settings.write_text(text.replace("[[checks]]", f"{command}[[checks]]"))
    (tmp_path / "review.json").write_text(json.dumps({"findings": [finding("page")]}))
    bench.run(findings=(str(tmp_path / "review.json"),))
    homes = dict(line.split(" ", 1) for line in asked.read_text().splitlines())
    assert {"technical", "reproducer", "fixer"} <= homes.keys()
    assert len({homes["technical"], homes["reproducer"], homes["fixer"]}) == 3


def test_the_homes_of_agents_and_the_logins_in_them_go_when_the_run_ends(bench):
    echo = bench.folder / "programs" / "echo.py"
    echo.parent.mkdir()
    echo.write_text(
        'import sys; sys.stdin.read(); print(\'{"findings": [], "summary": "fine"}\')\n'
    )
    bench.play(agents=())
    (bench.folder / "settings.toml").write_text(
        f'[agents]\nuse = ["echo"]\n[agent.echo]\nkind = "command"\ncommand = ["{sys.executable}", "{echo}"]\n'
    )
    run = bench.run("review")
    assert run.reviewing.reviews["technical"].failed == "", run.reviewing.reviews
    assert not (bench.folder / "state" / "runs" / run.id / "agents").exists()
