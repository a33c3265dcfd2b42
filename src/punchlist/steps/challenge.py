"""challenge: another agent scores the verified fixes; no usable score is no verdict."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from punchlist.errors import RepositoryError
from punchlist.model.checks.protected import STEERS_AGENTS
from punchlist.model.integrity.challenge_verdict import judge_batches
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Move
from punchlist.model.item.score import THRESHOLD, Score, lowest_scores
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Challenged, Returned
from punchlist.model.ledger.run import Run
from punchlist.model.patch.unified_diff import render_diff
from punchlist.ports.roles import Challenger, Exhibit, Judgement, RoleTask
from punchlist.ports.tree import Pristine
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import Measure, measure_baseline, unmeasured_checks
from punchlist.steps.judging.red_tests import find_contradictions
from punchlist.steps.support.batching import standing
from punchlist.steps.support.canary_planting import run_canaries
from punchlist.steps.support.project_context import find_answered, load_background
from punchlist.steps.verb import Action, Verb, VerbOptions, select_pending

CHUNK = 12
"""Items that are judged in one call; with more, agents look less closely."""


class Options(VerbOptions, frozen=True):
    """`threshold`: the least score that approves a fix. `all`: tools' fixes are judged, too.
    `optional`: without a challenger the step does nothing. `canaries`: how many known-bad and
    known-good patches are mixed in. `timeout`: seconds one call of the challenger may take, unless
    the settings say it.
    """

    threshold: int = THRESHOLD
    all: bool = False
    optional: bool = False
    canaries: int = 0
    timeout: Annotated[float, Meta(ge=0)] = 0


class JudgeFixes(Struct, frozen=True):
    batches: tuple[int, ...]
    contested: tuple[int, ...]
    options: Options
    label: str


class HoldBack(Struct, frozen=True):
    """Batches that the challenger was to judge when a limit was reached."""

    batches: tuple[int, ...]


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    batches = tuple(batch.number for batch in standing(run) if options.all or batch.uses_agent)
    contested = tuple(run.work.contested)
    players = run.started.crew.get("challenger")
    missing = players is None and options.optional
    if not (batches or contested) or missing or run.work.challenged is not None:
        return ()
    if run.halted:
        held = tuple(each for each in batches if run.claimed_items(run.work.batches[each]))
        return select_pending(run, Action("unjudged", HoldBack(held))) if held else ()
    if contested and (unmeasured := select_pending(run, *unmeasured_checks(run))):
        return unmeasured  # a red test may contradict what is contested
    task = JudgeFixes(batches, contested, options, f"{place} challenger")
    about = f"{players[0] if players else 'the challenger'} judges the fixes"
    return select_pending(run, Action("judge", task, about, role="challenger"))


async def judge_fixes(task: JudgeFixes, run: Run, world: World) -> Challenged:
    challenger, threshold = world.crew.challenger, task.options.threshold
    batches = [run.work.batches[number] for number in task.batches]
    canaries, spent = "", Usage()
    answers: list[Judgement] = []
    try:
        if challenger:
            answers = await _ask_challenger(challenger, task, batches, run, world)
        canaries, spent = await run_canaries(
            task.options.canaries, threshold, challenger, run, world
        )
    except RepositoryError as error:  # as a failed action it would leave the claims standing
        answers = [_failed_judgement(str(error), batches)]
    answers = answers or [_failed_judgement("no agent plays the challenger any more", batches)]
    scores = tuple(lowest_scores(score for each in answers for score in each.scores).values())
    agent = next((each.agent for each in answers if each.agent), "challenger")
    verdict = judge_batches(batches, run.items, scores, threshold, by=agent)
    contests = await _judge_contests(task, scores, run, world, agent)
    return Challenged(
        scores=scores,
        threshold=threshold,
        approved=verdict.approved,
        failed=_explain_absence(answers, batches, run, scores),
        agent=agent,
        transcript=next((each.transcript for each in answers if each.transcript), ""),
        canaries=canaries,
        moves=(*verdict.moves, *contests),
        usage=sum((each.usage for each in answers), spent),
    )


async def hold_back(task: HoldBack, run: Run, world: World) -> Returned:
    """Reopen the items of fixes that the challenger could not judge."""
    why = "the limit was reached before the challenger could judge it"
    moves = tuple(
        Move(item, Fact.REJECTED, by="challenge", why=why)
        for number in task.batches
        for item in run.claimed_items(run.work.batches[number])
    )
    return Returned(why=why, moves=moves)


async def _ask_challenger(
    challenger: Challenger, task: JudgeFixes, batches: Sequence[Batch], run: Run, world: World
) -> list[Judgement]:
    background = await load_background(run, world)
    answers: list[Judgement] = []
    patches = [run.work.patches[batch.number] for batch in batches]
    # Files of the change or of a fix must not steer the agent that judges them.
    pristine = Pristine(origin=world.change.base, alone=STEERS_AGENTS)
    async with world.trees.open_tree(
        run.landing.tip, patches, pristine=pristine, apart=run.has_outside_agent("challenger")
    ) as tree:
        before = await world.trees.collect_changes(tree)
        for turn, (some, contested) in enumerate(_split_chunks(batches, task.contested), 1):
            claimed = [number for batch in some for number in run.claimed_items(batch)]
            numbers = (*claimed, *contested)
            asked = RoleTask(
                label=f"{task.label} {turn}",
                items=tuple(run.items[number] for number in numbers),
                told=background,
                batches=tuple(some),
                doubts=find_answered(numbers, run),
            )
            exhibits = await _build_exhibits(some, run, world)
            answers.append(await challenger.judge(asked, exhibits, tree))
        if before == await world.trees.collect_changes(tree):
            return answers
    failed = _failed_judgement("it changed the files that it was to judge", batches)
    return [*(replace(each, scores=()) for each in answers), failed]


def _explain_absence(
    answers: Iterable[Judgement], batches: Iterable[Batch], run: Run, scores: Iterable[Score]
) -> str:
    """Return why items have no verdict, or "" if each of them has one."""
    known = {score.item: score for score in scores}
    claimed = [number for batch in batches for number in run.claimed_items(batch)]
    unscored = [number for number in claimed if number not in known or not known[number].usable]
    why = [each.failed for each in answers if each.failed]
    if unscored and not why:
        why = [known[number].feedback for number in unscored if number in known]
        why = [f"no usable score for {len(unscored)} of {len(claimed)} items", *why[:1]]
    return "; ".join(dict.fromkeys(why))


def _failed_judgement(why: str, batches: Iterable[Batch]) -> Judgement:
    """Return a judgement that scores no item and gives the reason."""
    return Judgement(
        failed=why,
        scores=tuple(Score(number, feedback=why) for batch in batches for number in batch.items),
    )


def _split_chunks(
    batches: Sequence[Batch], contested: Sequence[int]
) -> Iterable[tuple[list[Batch], Sequence[int]]]:
    """Yield up to CHUNK items per call, batches undivided; contested items come with the last."""
    some: list[Batch] = []
    for batch in batches:
        if some and sum(len(each.items) for each in some) + len(batch.items) > CHUNK:
            yield some, ()
            some = []
        some.append(batch)
    if some or contested:
        yield some, contested


async def _build_exhibits(batches: Sequence[Batch], run: Run, world: World) -> list[Exhibit]:
    patches = {batch.number: run.work.patches[batch.number] for batch in batches}
    paths = sorted({path for patch in patches.values() for path in patch.paths})
    texts = {path: await world.repository.text(run.landing.tip, path) for path in paths}
    before = {path: text for path, text in texts.items() if text is not None}
    return [
        Exhibit(each.number, render_diff(patches[each.number], before), run.claimed_items(each))
        for each in batches
    ]


async def _judge_contests(
    task: JudgeFixes, scores: Iterable[Score], run: Run, world: World, agent: str
) -> list[Move]:
    """Return moves that close the contested items whose contest another agent approves, unless a
    red test speaks of them.
    """
    known, threshold = lowest_scores(scores), task.options.threshold
    agreed = {
        number: known[number]
        for number in task.contested
        if number in known
        and known[number].approves(threshold)
        and not run.is_self_review("challenger", agent, run.items[number])
    }
    items = [run.items[number] for number in agreed]
    against = await find_contradictions(items, run, world) if items else {}
    moves: list[Move] = []
    for number, score in agreed.items():
        said = f"{run.work.contested[number]} (agreed by {agent}: {score.feedback or score.score})"
        if number in against:
            why = f"a red test speaks of it ({against[number]}), so there is something to fix"
            moves.append(Move(number, Fact.EXCUSE_REFUSED, by="punchlist", why=why, evidence=said))
        else:
            moves.append(Move(number, Fact.CONTEST_AGREED, by=agent, why=said))
    return moves


VERB = Verb(
    "another agent judges the fixes",
    Options,
    step,
    {Measure: measure_baseline, JudgeFixes: judge_fixes, HoldBack: hold_back},
    closes=True,
    announced=True,
    portable=frozenset({JudgeFixes}),
)
