"""challenge: another agent judges what the fixers left standing; the number decides, and silence
approves nothing.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.errors import RepositoryError
from punchlist.model.checks.protected import STEERS_AGENTS
from punchlist.model.integrity.challenge_verdict import judged
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Move
from punchlist.model.item.score import THRESHOLD, Score, by_item
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Challenged
from punchlist.model.ledger.run import Run
from punchlist.model.patch.unified_diff import unified
from punchlist.ports.roles import Challenger, Exhibit, Judgement, Task
from punchlist.ports.tree import Pristine
from punchlist.ports.world import World
from punchlist.steps.support.batching import standing
from punchlist.steps.support.canary_planting import planted
from punchlist.steps.support.project_context import background
from punchlist.steps.verb import Action, Verb, missing

CHUNK = 12
"""Items that are judged in one call; more make judges careless."""


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`threshold`: the score from which a fix is approved. `all`: tools' fixes are judged, too.
    `optional`: where nobody plays the challenger the step does nothing. `canaries`: how many
    known-bad and known-good patches are planted among the real.
    """

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
    there = "challenger" in run.started.crew
    if (
        not (batches or contested)
        or (options.optional and not there)
        or run.work.challenged is not None
    ):
        return ()
    who = run.started.crew["challenger"][0] if there else "nobody"
    return missing(
        run,
        Action(
            "judge",
            Judge(batches, contested, options, f"{place} challenger"),
            f"{who} judges the fixes",
        ),
    )


async def judge(task: Judge, run: Run, world: World) -> Challenged:
    challenger = world.crew.challenger
    batches = [run.work.batches[number] for number in task.batches]
    said, spent = "", Usage()
    try:
        heard = await _heard(challenger, task, batches, run, world) if challenger else []
        said, spent = await planted(
            task.options.canaries, task.options.threshold, challenger, run, world
        )
    except RepositoryError as error:  # as a failed action it would leave the claims standing
        heard = [_unheard(str(error), batches)]
    heard = heard or [_unheard("no agent plays the challenger any more", batches)]
    scores = tuple(by_item(score for judgement in heard for score in judgement.scores).values())
    agent = next((judgement.agent for judgement in heard if judgement.agent), "challenger")
    verdict = judged(batches, run.items, scores, task.options.threshold, by=agent)
    return Challenged(
        scores=scores,
        threshold=task.options.threshold,
        approved=verdict.approved,
        failed="; ".join(
            dict.fromkeys(judgement.failed for judgement in heard if judgement.failed)
        ),
        agent=agent,
        transcript=next((judgement.transcript for judgement in heard if judgement.transcript), ""),
        canaries=said,
        moves=(*verdict.moves, *_contested(task, scores, run, agent)),
        usage=sum((judgement.usage for judgement in heard), spent),
    )


async def _heard(
    challenger: Challenger, task: Judge, batches: Sequence[Batch], run: Run, world: World
) -> list[Judgement]:
    told = await background(run, world)
    heard: list[Judgement] = []
    patches = [run.work.patches[batch.number] for batch in batches]
    pristine = Pristine(
        origin=world.change.base, alone=STEERS_AGENTS
    )  # neither the change nor a fix tells its judge what to do
    async with world.trees.at(
        run.landing.tip, patches, pristine=pristine, apart=run.outside("challenger")
    ) as tree:
        before = await world.trees.changes(tree)
        for turn, (some, contested) in enumerate(_chunks(batches, task.contested), 1):
            numbers = (*(number for batch in some for number in run.claims(batch)), *contested)
            asked = Task(
                label=f"{task.label} {turn}",
                items=tuple(run.items[number] for number in numbers),
                told=told,
                batches=tuple(some),
                doubts=tuple(
                    doubt
                    for doubt in run.asking.doubts.values()
                    if doubt.item in numbers and doubt.answer
                ),
            )
            heard.append(await challenger.judge(asked, await _exhibits(some, run, world), tree))
        spoiled = before != await world.trees.changes(tree)
    spoilt = _unheard("it changed the files that it was to judge", batches)
    return [*(replace(each, scores=()) for each in heard), spoilt] if spoiled else heard


def _unheard(why: str, batches: Iterable[Batch]) -> Judgement:
    """No judgement, and why, of every item."""
    return Judgement(
        failed=why,
        scores=tuple(Score(number, feedback=why) for batch in batches for number in batch.items),
    )


def _chunks(
    batches: Sequence[Batch], contested: Sequence[int]
) -> Iterable[tuple[list[Batch], Sequence[int]]]:
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
    texts = {path: await world.repository.text(run.landing.tip, path) for path in paths}
    before = {path: text for path, text in texts.items() if text is not None}
    return [
        Exhibit(batch.number, unified(run.work.patches[batch.number], before), run.claims(batch))
        for batch in batches
    ]


def _contested(task: Judge, scores: Iterable[Score], run: Run, agent: str) -> Iterable[Move]:
    """A contest that the challenger agrees with ends the item; any other leaves it
    open, as it is.
    """
    known = by_item(scores)
    for number in task.contested:
        score = known.get(number)
        if score is not None and score.approves(task.options.threshold):
            why = (
                f"{run.work.contested[number]} (agreed by {agent}: {score.feedback or score.score})"
            )
            yield Move(number, Fact.CONTEST_AGREED, by=agent, why=why)


VERB = Verb("another agent judges the fixes", Options, step, {Judge: judge})
