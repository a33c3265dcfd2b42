"""When a stage starts the ledger says so at once: on --events, over HTTP and in the library."""

import asyncio
import json

from workbench import SCORED, fix, fixer, review, scores

from punchlist import review_and_fix
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.web.sse.frames import FrameCache

BREAKS = {"path": "shop/prices.py", "replace": "sum(prices)", "with": "sum(prices) + 1"}


def stage(event: dict) -> str:
    """What a start says, or the kind of another event."""
    if event["kind"] != "begun":
        return event["kind"]
    role = f" by {event['role']} {','.join(event['agents'])}" if event.get("role") else ""
    return f"{event['verb']} starts in round {event['round']}{role}"


def test_each_cycle_says_when_agent_and_verification_start_and_how_they_ended(bench):
    wrong = fix("mean")
    bench.play(
        review("mean"),
        fixer({**wrong, "edits": [*wrong["edits"], BREAKS]}, round=1),
        fixer(fix("mean")),
    )
    told = bench.type(
        "run", "--yes", "--workflow", "verified", "--set", "analyzers.enabled=", "--events"
    )
    lines = [json.loads(line) for line in told.out.splitlines()]
    events = [stage(line["event"]) for line in lines]
    kept = [each for each in events if " starts " in each]
    assert kept == [
        "review starts in round 1 by technical robot",
        "plan starts in round 1",
        "fix starts in round 1 by fixer robot",
        "verify starts in round 1",
        "plan starts in round 2",
        "fix starts in round 2 by fixer robot",
        "verify starts in round 2",
    ]
    for begins, ends in (
        ("review starts in round 1 by technical robot", "reviewed"),
        ("fix starts in round 1 by fixer robot", "attempted"),
        ("verify starts in round 1", "tried"),
        ("verify starts in round 1", "verified"),
        ("plan starts in round 1", "roundended"),
    ):
        assert events.index(begins) < events.index(ends)
    assert [events[0], events[-1]] == ["started", "ended"]
    assert bench.type("audit").code == 0


def test_the_library_and_the_stream_tell_the_same_starts_before_the_results(bench):
    (bench.folder / "scored.yaml").write_text(SCORED)
    bench.play(
        review("page"), fixer(fix("page")), scores(F001=95), agents=("robot", "second"),
        settings='[role.challenger]\nagents = ["second"]\n',
    )  # fmt: skip
    heard = []
    done = asyncio.run(
        review_and_fix(
            "",
            repository=bench.repo.root,
            workflow=str(bench.folder / "scored.yaml"),
            allow_checks=True,
            settings={"analyzers.enabled": ""},
            on_event=lambda entry, run: heard.append((entry.seq, entry.event, run.items)),
        )
    )
    assert done.fixed == 1
    starts = {event.verb: seq for seq, event, _ in heard if type(event).__name__ == "Begun"}
    results = {type(event).__name__: seq for seq, event, _ in heard}
    assert starts["review"] < results["Reviewed"]
    assert starts["fix"] < results["Attempted"]
    assert starts["verify"] < results["Verified"]
    assert results["Verified"] < starts["challenge"] < results["Challenged"]
    with SqliteStore.open(bench.folder / "state", readonly=True) as store:
        frames = FrameCache(store, lambda data: data)
        sent = [bytes(frames.next_frame(done.run, (seq - 1, 0))[1]) for seq, _, _ in heard]
    names = [frame.split(b"\n")[1].removeprefix(b"event: ").decode() for frame in sent]
    assert names == [event.__struct_config__.tag for _, event, _ in heard]
    (challenge,) = (frame for frame in sent if b"event: begun" in frame and b"challenger" in frame)
    assert json.loads(challenge.split(b"data: ")[1])["event"]["agents"] == ["second"]
