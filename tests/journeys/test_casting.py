"""Who cannot play is told before a run begins, and a dry run shows what would really be asked."""

import pytest
from shop import Watch
from workbench import review

from punchlist.app import Request
from punchlist.errors import SettingsError, UsageError


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('[agent.other]\nkind = "clude"\n[role.fixer]\nagents = ["other"]\n', "clude"),
        ('[agent.other]\nkind = "scripted"\nscript = "/nowhere/lines.json"\n[role.fixer]\nagents = ["other"]\n', "lines.json"),
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

    async def rehearsed(app):
        return await app.rehearse(await app.prepare(Request(workflow="verified", allow_checks=True)), Watch())

    assert bench.do(rehearsed)[0].text.startswith("Look hard.")
