"""commit: what is proven lands on the run's own branch, one commit per batch, all or none."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from punchlist.errors import RepositoryError
from punchlist.model.events import Committed, Failed, Landed, Published
from punchlist.model.item import Fact, Move
from punchlist.model.judges import judged_by
from punchlist.model.outgoing import safe_text
from punchlist.model.plan import Batch
from punchlist.model.proof import Proof, ProofClass
from punchlist.model.protected import matches
from punchlist.model.run import Run
from punchlist.ports import Draft, Heard, World
from punchlist.steps.fix import key_of
from punchlist.steps.judge import judge_view
from punchlist.steps.verb import Action, NoOptions, Verb, missing

_SUBJECT = 72
UNHEARD = "it may run what the repository names, and that was not allowed; `punchlist allow` or --yes lets it"


class Land(Struct, frozen=True):
    batches: tuple[int, ...]
    action: str


class Publish(Struct, frozen=True):
    branch: str
    tip: str


def step(run: Run, options: NoOptions, place: str) -> tuple[Action, ...]:  # noqa: ARG001 - the signature of every step
    """What is proven lands; then the user's repository is shown what it does not have yet, this round's or an earlier one's."""
    verified = run.work.verified.passed if run.work.verified is not None else ()
    passed = tuple(number for number in verified if proofs(run.work.batches[number], run))  # nothing lands without one
    land = Action("land", Land(passed, f"{run.id}/{place}/land"), f"{len(passed)} commits", whole=True)
    if passed and (first := missing(run, land)):
        return first
    if not run.landed or run.published == run.tip:
        return ()
    return missing(run, Action("publish", Publish(run.branch, run.tip), f"{run.branch} is shown", whole=True))


async def land(task: Land, run: Run, world: World) -> Committed | Failed:
    """Where no commits come of it nobody's claim stays."""
    batches = [run.work.batches[number] for number in task.batches]
    try:
        return await _landed(batches, task.action, run, world)
    except RepositoryError as error:
        return Failed(reason=str(error), hint=error.hint, moves=_not_made(batches, str(error)))


async def _landed(batches: Sequence[Batch], action: str, run: Run, world: World) -> Committed:
    """Commits that an earlier try made are there, whatever a hook says now."""
    shas = await world.repository.made(run.branch, run.tip, action)
    heard = Heard() if shas else await _heard(batches, run, world)
    if heard.refused:
        return Committed(branch=run.branch, tip=run.tip, refused=heard.refused, moves=_rejected(batches, run, heard.refused))
    shas = shas or await world.repository.commit_chain(run.branch, run.tip, _drafts(batches, run), action)
    if len(shas) != len(batches):
        raise RepositoryError(f"{len(batches)} commits were to be made on {run.branch}, and git has {len(shas)}")
    landed = tuple(Landed(batch.number, sha) for batch, sha in zip(batches, shas, strict=True))
    moves = tuple(
        Move(item, Fact.COMMITTED, by="punchlist", why=batch.title, proofs=proofs(batch, run), ref=sha, flag=_flag(batch))
        for batch, sha in zip(batches, shas, strict=True)
        for item in batch.items
    )
    return Committed(branch=run.branch, tip=shas[-1], landed=landed, moves=moves, unheard=UNHEARD if heard.unheard else "")


async def publish(task: Publish, run: Run, world: World) -> Published:  # noqa: ARG001 - the signature of every performer
    """A branch that cannot be shown is no lost work: the next commit step tries again, and so does `apply`."""
    try:
        await world.repository.publish(task.branch)
    except RepositoryError as error:
        return Published(branch=task.branch, tip=task.tip, failed=f"{error} (hint: {error.hint})" if error.hint else str(error))
    return Published(branch=task.branch, tip=task.tip)


async def _heard(batches: Sequence[Batch], run: Run, world: World) -> Heard:
    """Hooks take their settings from the tree: the base's count, whatever the branch or a fix made of them."""
    patches = [run.work.patches[batch.number] for batch in batches]
    fixed = {path for patch in patches for path in patch.paths if not matches(path, world.protected.configuration)}
    allowed = run.started is not None and run.started.checks_allowed
    return await world.repository.hook("pre-commit", run.tip, patches, pristine=judge_view(world, fixed) if allowed else None)


def _drafts(batches: Sequence[Batch], run: Run) -> list[Draft]:
    return [Draft(message(batch, run), run.work.patches[batch.number]) for batch in batches]


def _flag(batch: Batch) -> str:
    """The one case in which the judge may have been bent: its own files are what the finding is about."""
    return "touches the judge's own files (tests, checks or their configuration): look at it" if batch.protected else ""


def _rejected(batches: Sequence[Batch], run: Run, refused: str) -> tuple[Move, ...]:
    why = "a git hook refused the commit"
    return tuple(
        Move(item, Fact.REJECTED, by="pre-commit", why=why, evidence=refused[-4000:], ref=key_of(run.items[item]))
        for batch in batches
        for item in batch.items
    )


def _not_made(batches: Sequence[Batch], why: str) -> tuple[Move, ...]:
    """Nobody said anything against the fixes: they bear no mark that would keep them from being tried again."""
    said = f"it could not be committed: {why}"
    return tuple(Move(item, Fact.REJECTED, by="git", why=said) for batch in batches for item in batch.items)


def message(batch: Batch, run: Run) -> str:
    """A subject people can read, what stands behind it, and trailers for machines."""
    lead = run.items[batch.items[0]].current
    subject = safe_text(" ".join(f"Fix {batch.title}".split()))
    short = subject if len(subject) <= _SUBJECT else subject[: _SUBJECT - 1].rstrip() + "…"
    path = safe_text(" ".join(lead.spot.path.split()))  # a name with line ends in it could pose as a trailer
    where = f"{path}:{lead.spot.line}" if lead.spot.line else path
    proven = "\n".join(f"Proof: {proof.kind}: {safe_text(proof.said)}" for proof in proofs(batch, run))
    numbers = ", ".join(str(number) for number in batch.items)
    return f"{short}\n\n{where}: {safe_text(lead.title)}\n\n{proven}\n\nPunchlist-Run: {run.id}\nPunchlist-Items: {numbers}\n"


def proofs(batch: Batch, run: Run) -> tuple[Proof, ...]:
    """What was seen of this batch. Where the judge's own files were changed, what the checks say is no proof of it."""
    found: list[Proof] = []
    rechecked, verified = run.work.rechecked, run.work.verified
    judges = judged_by(batch.paths, run.baselines)
    if rechecked is not None and batch.number in rechecked.silent:
        reporters = {finding.source for number in batch.items for finding in run.items[number].findings}
        tools = sorted(reporters.intersection(run.started.reviewers if run.started is not None else ()))
        extra = f"; follow-up: {', '.join(rechecked.followed_by[batch.number])}" if batch.number in rechecked.followed_by else ""
        found.append(Proof(ProofClass.RECHECKED, f"no longer reported by {', '.join(tools)}{extra}"))
    if verified is not None and not verified.unverified and judges and not batch.protected:
        found.append(Proof(ProofClass.CHECKED, _checked(run, judges)))
    return tuple(found)


def _checked(run: Run, names: Iterable[str]) -> str:
    judges = [run.baselines[name] for name in names]
    return "; ".join(
        f"{judge.check}: {judge.passed} tests as on the base" + (f", {judge.failed} failing as before" if judge.failed else "")
        if judge.passed or judge.failed
        else f"{judge.check}: exit code 0"
        for judge in judges
    )


VERB = Verb("what is proven lands on a branch", NoOptions, step, {Land: land, Publish: publish})
