"""What agents are told and not told: each line of the script answers only a prompt that has these words."""

from test_challenged import PLANS, READY
from test_unified import grouped
from workbench import FAULTS, fix, fixer, review, scores

from punchlist.model.item.item import Status

REVIEW = (
    "send out at least two experts at the same time",
    "types, idiom, the right use of the",
    "put everything into one list",
    "problem once, at the place where it must be fixed",
)
RULES = (
    "You must report on EVERY finding",
    "These are no reasons, and are sent back: out of scope",
    "a dependency, a service, a credential or data is missing",
    "with your words beside it",
    "Run the commands below",
    "break nothing",
    "give each group to one of its own, all at the same time,\nand wait for all of them",
)
PRAISE = "this is the best fix there can be"


def test_the_unified_reviewer_and_the_fixer_are_told_their_rules(bench):
    bench.play(
        {**grouped(["mean"], ["page"]), "prompt": list(REVIEW)},
        fixer(fix("mean"), fix("page"), prompt=list(RULES)),
    )
    told = bench.type("run", "--workflow", "unified", "--yes")
    assert told.code == 0, told
    assert bench.calls == [("robot", "unified"), ("robot", "fixer")]


def test_the_challenger_gets_finding_and_diff_and_not_the_praise_of_the_fixer(bench):
    title, changed = FAULTS["mean"][0], "if prices else None"
    bench.play(
        review("mean"),
        READY,
        PLANS,
        fixer(fix("mean", explanation=PRAISE)),
        {**scores(F001=0), "prompt": PRAISE},
        {**scores(F001=95), "prompt": [title, changed]},
        agents=("claude-like", "gemini-like"),
    )
    bench.run("challenged")
    run = bench.answer("a")
    assert run.items[1].status is Status.FIXED
    assert ("gemini-like", "challenger") in bench.calls
