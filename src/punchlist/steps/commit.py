"""commit: proven batches become commits on the run's own branch, one per batch, all or none."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from punchlist.errors import RepositoryError
from punchlist.model.checks.coverage import explain_unjudged, find_judges
from punchlist.model.checks.protected import matches_any
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Move
from punchlist.model.item.proof import Proof, ProofClass, strongest_proof
from punchlist.model.item.score import lowest_scores
from punchlist.model.ledger.events import Committed, Failed, Landed, Published, Returned
from punchlist.model.ledger.run import Run
from punchlist.ports.repository import Draft, Heard
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import judge_view
from punchlist.steps.support.batching import current_fix_key, standing
from punchlist.steps.verb import Action, Verb, select_pending
from punchlist.views.item_words import describe_proof
from punchlist.views.safe_text import safe_text

_SUBJECT = 72
_PROSE = (".md", ".rst", ".txt", ".adoc")
UNHEARD = (
    "it may run what the repository names, and that was not allowed; `punchlist allow` or --yes"
    " lets it"
)


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`needs`: the least proof for an agent's fix to be committed; `claim` accepts its word, if
    there is a diff.
    """

    needs: ProofClass = ProofClass.CHECKED


class GiveBack(Struct, frozen=True):
    """Batches without the required proof: their items are reopened."""

    batches: tuple[int, ...]
    needs: ProofClass


class Land(Struct, frozen=True):
    batches: tuple[int, ...]
    action: str


class Publish(Struct, frozen=True):
    branch: str
    tip: str


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    """Give back unproven batches, then commit the proven ones, then publish what the user's
    repository lacks.
    """
    judged = [batch for batch in standing(run) if run.claimed_items(batch)]
    passed = tuple(batch.number for batch in judged if is_proven(batch, run, options.needs))
    unproven = tuple(
        batch.number for batch in judged if batch.uses_agent and batch.number not in passed
    )
    if unproven and (
        first := select_pending(
            run, Action("unproven", GiveBack(unproven, options.needs), "what is unproven goes back")
        )
    ):
        return first
    land = Action(
        "land", Land(passed, f"{run.id}/{place}/land"), f"{len(passed)} commits", whole=True
    )
    if passed and (first := select_pending(run, land)):
        return first
    if not run.landing.landed or run.landing.published == run.landing.tip:
        return ()
    return select_pending(
        run,
        Action(
            "publish",
            Publish(run.landing.branch, run.landing.tip),
            f"{run.landing.branch} is shown",
            whole=True,
        ),
    )


async def give_back(task: GiveBack, run: Run, world: World) -> Returned:
    """Reopen the items of agents' fixes that lack the required proof."""
    why = f"nothing proves it: it needs to be {task.needs}"
    moves = []
    for number in task.batches:
        batch = run.work.batches[number]
        blind = run.checks.unverified or explain_unjudged(
            _judged_paths(batch), run.checks.baselines
        )
        moves += [
            Move(item, Fact.REJECTED, by="commit", why=why, evidence=blind)
            for item in run.claimed_items(batch)
        ]
    return Returned(why=why, moves=tuple(moves))


async def land_batches(task: Land, run: Run, world: World) -> Committed | Failed:
    """Commit the batches; on a git error return their claims."""
    batches = [run.work.batches[number] for number in task.batches]
    try:
        return await _commit_batches(batches, task.action, run, world)
    except RepositoryError as error:
        return Failed(
            reason=str(error), hint=error.hint, moves=_return_claims(batches, run, str(error))
        )


async def _commit_batches(
    batches: Sequence[Batch], action: str, run: Run, world: World
) -> Committed:
    """Create the commits, or find those of an earlier try; the hook runs only before new ones."""
    shas = await world.repository.find_commits(run.landing.branch, run.landing.tip, action)
    heard = Heard() if shas else await _run_hook(batches, run, world)
    if heard.refused:
        return Committed(
            branch=run.landing.branch,
            tip=run.landing.tip,
            refused=heard.refused,
            moves=_reject_batches(batches, run, heard.refused),
        )
    shas = shas or await world.repository.commit_chain(
        run.landing.branch, run.landing.tip, _build_drafts(batches, run), action
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
            why=_commit_title(batch, run),
            proofs=find_proofs(batch, run, item),
            ref=sha,
            flag=_protected_flag(batch),
        )
        for batch, sha in zip(batches, shas, strict=True)
        for item in run.claimed_items(batch)
    )
    return Committed(
        branch=run.landing.branch,
        tip=shas[-1],
        landed=landed,
        moves=moves,
        unheard=UNHEARD if heard.unheard else "",
    )


async def publish_branch(task: Publish, run: Run, world: World) -> Published:
    """Publish the branch; on failure the next commit step and `apply` retry."""
    try:
        await world.repository.publish(task.branch)
    except RepositoryError as error:
        return Published(
            branch=task.branch,
            tip=task.tip,
            failed=f"{error} (hint: {error.hint})" if error.hint else str(error),
        )
    return Published(branch=task.branch, tip=task.tip)


async def _run_hook(batches: Sequence[Batch], run: Run, world: World) -> Heard:
    """Run the pre-commit hook with configuration files of the base."""
    patches = [run.work.patches[batch.number] for batch in batches]
    fixed = {
        path
        for patch in patches
        for path in patch.paths
        if not matches_any(path, world.protected.configuration)
    }
    allowed = run.started.checks_allowed
    return await world.repository.run_hook(
        "pre-commit",
        run.landing.tip,
        patches,
        pristine=judge_view(world, fixed) if allowed else None,
    )


def _build_drafts(batches: Sequence[Batch], run: Run) -> list[Draft]:
    return [Draft(render_message(batch, run), run.work.patches[batch.number]) for batch in batches]


def _protected_flag(batch: Batch) -> str:
    """Return the warning for a batch that edits tests or check configuration, else ''."""
    return "changes tests or CI configuration: review it" if batch.protected else ""


def _reject_batches(batches: Sequence[Batch], run: Run, refused: str) -> tuple[Move, ...]:
    why = "a git hook refused the commit"
    return tuple(
        Move(
            item,
            Fact.REJECTED,
            by="pre-commit",
            why=why,
            evidence=refused[-4000:],
            ref=current_fix_key(run.items[item]),
        )
        for batch in batches
        for item in run.claimed_items(batch)
    )


def _return_claims(batches: Sequence[Batch], run: Run, why: str) -> tuple[Move, ...]:
    """Return moves without a fix key, so that the same fixes may be tried again."""
    said = f"it could not be committed: {why}"
    return tuple(
        Move(item, Fact.REJECTED, by="git", why=said)
        for batch in batches
        for item in run.claimed_items(batch)
    )


def _commit_title(batch: Batch, run: Run) -> str:
    """Return the batch's title, or one that names only the items the agent fixed."""
    claims = run.claimed_items(batch)
    if not batch.uses_agent or not claims or len(claims) == len(batch.items):
        return batch.title
    more = f" and {len(claims) - 1} more" if len(claims) > 1 else ""
    return f"{run.items[claims[0]].current.title}{more}"


def render_message(batch: Batch, run: Run) -> str:
    """Render the commit message: subject, location, proofs, and trailers for machines."""
    claims = run.claimed_items(batch) or batch.items
    lead = run.items[claims[0]].current
    subject = safe_text(" ".join(f"Fix {_commit_title(batch, run)}".split()))
    short = subject if len(subject) <= _SUBJECT else subject[: _SUBJECT - 1].rstrip() + "…"
    path = safe_text(
        " ".join(lead.spot.path.split())
    )  # a name with line ends in it could pose as a trailer
    where = f"{path}:{lead.spot.line}" if lead.spot.line else path
    known = dict.fromkeys(proof for item in claims for proof in find_proofs(batch, run, item))
    proven = "\n".join(
        f"Proof: {safe_text(' '.join(describe_proof(proof).split()))}" for proof in known
    )
    numbers = ", ".join(str(number) for number in claims)
    return (
        f"{short}\n\n{where}: {safe_text(lead.title)}\n\n{proven}\n\nPunchlist-Run:"
        f" {run.id}\nPunchlist-Items: {numbers}\n"
    )


def is_proven(batch: Batch, run: Run, needs: ProofClass) -> bool:
    """Return whether a tool's fix has any proof, or every item of an agent's fix one as strong as
    `needs`.
    """
    if not batch.uses_agent:
        return bool(find_proofs(batch, run, batch.items[0]))
    best = [strongest_proof(find_proofs(batch, run, item)) for item in run.claimed_items(batch)]
    return bool(best) and all(
        proof is not None and proof.kind.strength >= needs.strength for proof in best
    )


def find_proofs(batch: Batch, run: Run, item: int) -> tuple[Proof, ...]:
    """Return the proofs of this item, strongest first."""
    found = [*_find_batch_proofs(batch, run, item), *_find_agent_proofs(batch, run, item)]
    return tuple(sorted(found, key=lambda proof: -proof.kind.strength))


def _find_batch_proofs(batch: Batch, run: Run, item: int) -> Iterator[Proof]:
    """CHECKED is not granted if the batch edits protected files. RECHECKED is granted only for
    items the analyzer itself reported; in an agent's batch, per item.
    """
    rechecked, verified = run.work.rechecked, run.work.verified
    judges = find_judges(_judged_paths(batch), run.checks.baselines)
    numbers = (item,) if batch.uses_agent else batch.items
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
        yield Proof(ProofClass.CHECKED, _describe_checks(run, judges))


def _find_agent_proofs(batch: Batch, run: Run, item: int) -> Iterator[Proof]:
    """Yield the agent's claim, the proofs of the examination, and the challenger's approval."""
    if not batch.uses_agent:
        return
    report = run.work.reports.get(item)
    yield Proof(
        ProofClass.CLAIM,
        report.why if report and report.why else "the agent says so, and there is a diff",
    )
    examined = run.work.examined.get(batch.number)
    yield from examined.proofs.get(item, ()) if examined is not None else ()
    challenged = run.work.challenged
    score = lowest_scores(challenged.scores).get(item) if challenged is not None else None
    if challenged is not None and score is not None and score.approves(challenged.threshold):
        said = f"scored {score.score} by {challenged.agent}"
        yield Proof(
            ProofClass.REVIEWED, f"{said}; {challenged.canaries}" if challenged.canaries else said
        )


def _judged_paths(batch: Batch) -> tuple[str, ...]:
    """Return the files a check must judge: of an agent's batch without prose, unless it has only
    prose.
    """
    code = tuple(path for path in batch.paths if not path.endswith(_PROSE))
    return code if batch.uses_agent and code else batch.paths


def _describe_checks(run: Run, names: Iterable[str]) -> str:
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
    {GiveBack: give_back, Land: land_batches, Publish: publish_branch},
)
