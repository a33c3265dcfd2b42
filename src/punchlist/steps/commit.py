"""commit: what is proven lands on the run's own branch, one commit per batch, all or none."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from punchlist.errors import RepositoryError
from punchlist.model.checks.coverage import judged_by, unjudged
from punchlist.model.checks.protected import matches
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Move
from punchlist.model.item.proof import Proof, ProofClass, strongest
from punchlist.model.item.score import by_item
from punchlist.model.ledger.events import Committed, Failed, Landed, Published, Returned
from punchlist.model.ledger.run import Run
from punchlist.ports.repository import Draft, Heard
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import judge_view
from punchlist.steps.support.batching import key_of, standing
from punchlist.steps.verb import Action, Verb, missing
from punchlist.views.item_words import describe_proof
from punchlist.views.safe_text import safe_text

_SUBJECT = 72
_PROSE = (".md", ".rst", ".txt", ".adoc")
UNHEARD = (
    "it may run what the repository names, and that was not allowed; `punchlist allow` or --yes"
    " lets it"
)


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`needs`: the least proof with which an agent's fix lands; `claim` trusts its word, but never
    without a real diff.
    """

    needs: ProofClass = ProofClass.CHECKED


class GiveBack(Struct, frozen=True):
    """Batches without the proof that is asked for: their items are open again."""

    batches: tuple[int, ...]
    needs: ProofClass


class Land(Struct, frozen=True):
    batches: tuple[int, ...]
    action: str


class Publish(Struct, frozen=True):
    branch: str
    tip: str


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    """What is proven lands; then the user's repository is shown what it does not have yet, this
    round's or an earlier one's.
    """
    judged = [batch for batch in standing(run) if run.claims(batch)]
    passed = tuple(batch.number for batch in judged if proven(batch, run, options.needs))
    unproven = tuple(
        batch.number for batch in judged if batch.by_agent and batch.number not in passed
    )
    if unproven and (
        first := missing(
            run, Action("unproven", GiveBack(unproven, options.needs), "what is unproven goes back")
        )
    ):
        return first
    land = Action(
        "land", Land(passed, f"{run.id}/{place}/land"), f"{len(passed)} commits", whole=True
    )
    if passed and (first := missing(run, land)):
        return first
    if not run.landing.landed or run.landing.published == run.landing.tip:
        return ()
    return missing(
        run,
        Action(
            "publish",
            Publish(run.landing.branch, run.landing.tip),
            f"{run.landing.branch} is shown",
            whole=True,
        ),
    )


async def give_back(task: GiveBack, run: Run, world: World) -> Returned:
    """An agent's fix that nothing speaks for but its word."""
    why = f"nothing proves it: it needs to be {task.needs}"
    moves = []
    for number in task.batches:
        batch = run.work.batches[number]
        blind = run.checks.unverified or unjudged(_code(batch), run.checks.baselines)
        moves += [
            Move(item, Fact.REJECTED, by="commit", why=why, evidence=blind)
            for item in run.claims(batch)
        ]
    return Returned(why=why, moves=tuple(moves))


async def land(task: Land, run: Run, world: World) -> Committed | Failed:
    """Where no commits come of it nobody's claim stays."""
    batches = [run.work.batches[number] for number in task.batches]
    try:
        return await _landed(batches, task.action, run, world)
    except RepositoryError as error:
        return Failed(reason=str(error), hint=error.hint, moves=_not_made(batches, run, str(error)))


async def _landed(batches: Sequence[Batch], action: str, run: Run, world: World) -> Committed:
    """Commits that an earlier try made are there, whatever a hook says now."""
    shas = await world.repository.made(run.landing.branch, run.landing.tip, action)
    heard = Heard() if shas else await _heard(batches, run, world)
    if heard.refused:
        return Committed(
            branch=run.landing.branch,
            tip=run.landing.tip,
            refused=heard.refused,
            moves=_rejected(batches, run, heard.refused),
        )
    shas = shas or await world.repository.commit_chain(
        run.landing.branch, run.landing.tip, _drafts(batches, run), action
    )
    if len(shas) != len(batches):
        raise RepositoryError(
            f"{len(batches)} commits were to be made on {run.landing.branch}, and git has"
            f" {len(shas)}"
        )
    landed = tuple(Landed(batch.number, sha) for batch, sha in zip(batches, shas, strict=True))
    moves = tuple(
        Move(
            item,
            Fact.COMMITTED,
            by="punchlist",
            why=_title(batch, run),
            proofs=proofs(batch, run, item),
            ref=sha,
            flag=_flag(batch),
        )
        for batch, sha in zip(batches, shas, strict=True)
        for item in run.claims(batch)
    )
    return Committed(
        branch=run.landing.branch,
        tip=shas[-1],
        landed=landed,
        moves=moves,
        unheard=UNHEARD if heard.unheard else "",
    )


async def publish(task: Publish, run: Run, world: World) -> Published:
    """A branch that cannot be shown is no lost work: the next commit step tries again, and so does
    `apply`.
    """
    try:
        await world.repository.publish(task.branch)
    except RepositoryError as error:
        return Published(
            branch=task.branch,
            tip=task.tip,
            failed=f"{error} (hint: {error.hint})" if error.hint else str(error),
        )
    return Published(branch=task.branch, tip=task.tip)


async def _heard(batches: Sequence[Batch], run: Run, world: World) -> Heard:
    """Hooks take their settings from the tree: the base's count, whatever the branch or a fix made
    of them.
    """
    patches = [run.work.patches[batch.number] for batch in batches]
    fixed = {
        path
        for patch in patches
        for path in patch.paths
        if not matches(path, world.protected.configuration)
    }
    allowed = run.started.checks_allowed
    return await world.repository.hook(
        "pre-commit",
        run.landing.tip,
        patches,
        pristine=judge_view(world, fixed) if allowed else None,
    )


def _drafts(batches: Sequence[Batch], run: Run) -> list[Draft]:
    return [Draft(message(batch, run), run.work.patches[batch.number]) for batch in batches]


def _flag(batch: Batch) -> str:
    """The one case in which the judge may have been bent: its own files are what the finding is
    about.
    """
    return "changes tests or CI configuration: review it" if batch.protected else ""


def _rejected(batches: Sequence[Batch], run: Run, refused: str) -> tuple[Move, ...]:
    why = "a git hook refused the commit"
    return tuple(
        Move(
            item,
            Fact.REJECTED,
            by="pre-commit",
            why=why,
            evidence=refused[-4000:],
            ref=key_of(run.items[item]),
        )
        for batch in batches
        for item in run.claims(batch)
    )


def _not_made(batches: Sequence[Batch], run: Run, why: str) -> tuple[Move, ...]:
    """Nobody said anything against the fixes: they bear no mark that would keep them from being
    tried again.
    """
    said = f"it could not be committed: {why}"
    return tuple(
        Move(item, Fact.REJECTED, by="git", why=said)
        for batch in batches
        for item in run.claims(batch)
    )


def _title(batch: Batch, run: Run) -> str:
    """What was planned, but for items that an agent put off: a commit names only what it fixes."""
    claims = run.claims(batch)
    if not batch.by_agent or not claims or len(claims) == len(batch.items):
        return batch.title
    more = f" and {len(claims) - 1} more" if len(claims) > 1 else ""
    return f"{run.items[claims[0]].current.title}{more}"


def message(batch: Batch, run: Run) -> str:
    """A subject people can read, what stands behind it, and trailers for machines."""
    claims = run.claims(batch) or batch.items
    lead = run.items[claims[0]].current
    subject = safe_text(" ".join(f"Fix {_title(batch, run)}".split()))
    short = subject if len(subject) <= _SUBJECT else subject[: _SUBJECT - 1].rstrip() + "…"
    path = safe_text(
        " ".join(lead.spot.path.split())
    )  # a name with line ends in it could pose as a trailer
    where = f"{path}:{lead.spot.line}" if lead.spot.line else path
    known = dict.fromkeys(proof for item in claims for proof in proofs(batch, run, item))
    proven = "\n".join(
        f"Proof: {safe_text(' '.join(describe_proof(proof).split()))}" for proof in known
    )
    numbers = ", ".join(str(number) for number in claims)
    return (
        f"{short}\n\n{where}: {safe_text(lead.title)}\n\n{proven}\n\nPunchlist-Run:"
        f" {run.id}\nPunchlist-Items: {numbers}\n"
    )


def proven(batch: Batch, run: Run, needs: ProofClass) -> bool:
    """A tool's fix needs any proof; of an agent's every item that it claims needs one as strong as
    is asked for.
    """
    if not batch.by_agent:
        return bool(proofs(batch, run, batch.items[0]))
    best = [strongest(proofs(batch, run, item)) for item in run.claims(batch)]
    return bool(best) and all(
        proof is not None and proof.kind.strength >= needs.strength for proof in best
    )


def proofs(batch: Batch, run: Run, item: int) -> tuple[Proof, ...]:
    """What was seen of this item, strongest first."""
    found = [*_of_the_batch(batch, run, item), *_of_agents(batch, run, item)]
    return tuple(sorted(found, key=lambda proof: -proof.kind.strength))


def _of_the_batch(batch: Batch, run: Run, item: int) -> Iterator[Proof]:
    """Where the judge's own files were changed, what the checks say is no proof of it. An
    analyzer's silence speaks for what it had reported: of an agent's patch, for no other item in
    it.
    """
    rechecked, verified = run.work.rechecked, run.work.verified
    judges = judged_by(_code(batch), run.checks.baselines)
    numbers = (item,) if batch.by_agent else batch.items
    reporters = {finding.source for number in numbers for finding in run.items[number].sighted}
    tools = sorted(reporters.intersection(run.started.reviewers))
    if rechecked is not None and batch.number in rechecked.silent and tools:
        extra = (
            f"; follow-up: {', '.join(rechecked.followed_by[batch.number])}"
            if batch.number in rechecked.followed_by
            else ""
        )
        yield Proof(ProofClass.RECHECKED, f"no longer reported by {', '.join(tools)}{extra}")
    if verified is not None and not verified.unverified and judges and not batch.protected:
        yield Proof(ProofClass.CHECKED, _checked(run, judges))


def _of_agents(batch: Batch, run: Run, item: int) -> Iterator[Proof]:
    """The agent's word, what its patch stood up to by itself, and what another agent says of it."""
    if not batch.by_agent:
        return
    report = run.work.reports.get(item)
    yield Proof(
        ProofClass.CLAIM,
        report.why if report and report.why else "the agent says so, and there is a diff",
    )
    examined = run.work.examined.get(batch.number)
    yield from examined.proofs.get(item, ()) if examined is not None else ()
    challenged = run.work.challenged
    score = by_item(challenged.scores).get(item) if challenged is not None else None
    if challenged is not None and score is not None and score.approves(challenged.threshold):
        said = f"scored {score.score} by {challenged.agent}"
        yield Proof(
            ProofClass.REVIEWED, f"{said}; {challenged.canaries}" if challenged.canaries else said
        )


def _code(batch: Batch) -> tuple[str, ...]:
    """The files a check must judge; prose beside code needs no judge."""
    code = tuple(path for path in batch.paths if not path.endswith(_PROSE))
    return code if batch.by_agent and code else batch.paths


def _checked(run: Run, names: Iterable[str]) -> str:
    judges = [run.checks.baselines[name] for name in names]
    return "; ".join(
        (
            f"{judge.check}: {judge.passed} tests as on the base"
            + (f", where {judge.failed} failed already" if judge.failed else "")
            if judge.passed or judge.failed
            else f"{judge.check}: exit code 0"
        )
        for judge in judges
    )


VERB = Verb(
    "what is proven lands on a branch",
    Options,
    step,
    {GiveBack: give_back, Land: land, Publish: publish},
)
