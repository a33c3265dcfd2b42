"""challenge: another agent judges what the fixers left standing; the number decides, and silence approves nothing."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from punchlist.model.events import Challenged
from punchlist.model.item import Fact, Move
from punchlist.model.judged import judged
from punchlist.model.plan import Batch
from punchlist.model.run import Run
from punchlist.model.score import THRESHOLD, Score, by_item
from punchlist.model.unified import unified
from punchlist.ports import World
from punchlist.ports.crew import Challenger, Exhibit, Judgement, Task
from punchlist.steps.background import background
from punchlist.steps.canaries import planted
from punchlist.steps.verb import Action, Verb, missing

CHUNK = 12
"""Items that are judged in one call; more make judges careless."""


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`threshold`: the score from which a fix is approved. `all`: tools' fixes are judged, too. `optional`: where nobody plays
    the challenger the step does nothing. `canaries`: how many known-bad and known-good patches are planted among the real."""

    threshold: int = THRESHOLD
    all: bool = False
    optional: bool = False
    canaries: int = 0


class Judge(Struct, frozen=True):
    batches: tuple[int, ...]
    contested: tuple[int, ...]
    options: Options
    label: str


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    batches = tuple(batch.number for batch in standing(run) if options.all or batch.by_agent)
    contested = tuple(run.work.contested)
    there = run.started is not None and "challenger" in run.started.crew
    if not (batches or contested) or (options.optional and not there) or run.work.challenged is not None:
        return ()
    who = run.started.crew["challenger"][0] if run.started is not None and there else "nobody"
    return missing(run, Action("judge", Judge(batches, contested, options, f"{place} challenger"), f"{who} judges the fixes"))


def standing(run: Run) -> list[Batch]:
    """Batches with a patch that nothing has refuted so far."""
    numbers = run.work.verified.passed if run.work.verified is not None else tuple(run.work.patches)
    return [run.work.batches[number] for number in numbers if number in run.work.batches]


async def judge(task: Judge, run: Run, world: World) -> Challenged:
    challenger = world.crew.challenger
    batches = [run.work.batches[number] for number in task.batches]
    nobody = [Judgement(failed="nobody plays the challenger any more")]
    heard = await _heard(challenger, task, batches, run, world) if challenger else nobody
    scores = tuple(by_item(score for judgement in heard for score in judgement.scores).values())
    agent = next((judgement.agent for judgement in heard if judgement.agent), "challenger")
    verdict = judged(batches, run.items, scores, task.options.threshold, by=agent)
    said, spent = await planted(task.options.canaries, challenger, run, world)
    return Challenged(
        scores=scores,
        threshold=task.options.threshold,
        approved=verdict.approved,
        failed="; ".join(dict.fromkeys(judgement.failed for judgement in heard if judgement.failed)),
        agent=agent,
        transcript=next((judgement.transcript for judgement in heard if judgement.transcript), ""),
        canaries=said,
        moves=(*verdict.moves, *_contested(task, scores, run, agent)),
        usage=sum((judgement.usage for judgement in heard), spent),
    )


async def _heard(challenger: Challenger, task: Judge, batches: Sequence[Batch], run: Run, world: World) -> list[Judgement]:
    told = await background(run, world)
    heard: list[Judgement] = []
    patches = [run.work.patches[batch.number] for batch in batches]
    async with world.trees.at(run.tip, patches) as tree:
        before = await world.trees.changes(tree)
        for turn, (some, contested) in enumerate(_chunks(batches, task.contested), 1):
            numbers = (*(number for batch in some for number in batch.items), *contested)
            asked = Task(
                label=f"{task.label} {turn}",
                items=tuple(run.items[number] for number in numbers),
                told=told,
                batches=tuple(some),
                doubts=tuple(doubt for doubt in run.doubts.values() if doubt.item in numbers and doubt.answer),
            )
            heard.append(await challenger.judge(asked, await _exhibits(some, run, world), tree))
        spoiled = before != await world.trees.changes(tree)
    return [Judgement(failed="it changed the files that it was to judge")] if spoiled else heard


def _chunks(batches: Sequence[Batch], contested: Sequence[int]) -> Iterable[tuple[list[Batch], Sequence[int]]]:
    """So many items a call, a batch never torn apart; what is contested comes with the last."""
    some: list[Batch] = []
    for batch in batches:
        if some and sum(len(each.items) for each in some) + len(batch.items) > CHUNK:
            yield some, ()
            some = []
        some.append(batch)
    if some or contested:
        yield some, contested


async def _exhibits(batches: Sequence[Batch], run: Run, world: World) -> list[Exhibit]:
    paths = sorted({path for batch in batches for path in run.work.patches[batch.number].paths})
    texts = {path: await world.repository.text(run.tip, path) for path in paths}
    before = {path: text for path, text in texts.items() if text is not None}
    return [Exhibit(batch.number, unified(run.work.patches[batch.number], before), batch.items) for batch in batches]


def _contested(task: Judge, scores: Iterable[Score], run: Run, agent: str) -> Iterable[Move]:
    """A contest that the challenger agrees with ends the item; any other leaves it open, as it is."""
    known = by_item(scores)
    for number in task.contested:
        score = known.get(number)
        if score is not None and score.approves(task.options.threshold):
            why = f"{run.work.contested[number]} (agreed by {agent}: {score.feedback or score.score})"
            yield Move(number, Fact.CONTEST_AGREED, by=agent, why=why)


VERB = Verb("another agent judges the fixes", Options, step, {Judge: judge})
