"""commit: what is proven lands on the run's own branch, one commit per batch, all or none."""

from collections.abc import Iterable

from msgspec import Struct

from punchlist.errors import RepositoryError
from punchlist.model.events import Committed, Landed
from punchlist.model.item import Fact, Move
from punchlist.model.judges import judged_by
from punchlist.model.outgoing import safe_text
from punchlist.model.plan import Batch
from punchlist.model.proof import Proof, ProofClass
from punchlist.model.run import Run
from punchlist.ports import Draft, World
from punchlist.steps.fix import key_of
from punchlist.steps.verb import Action, NoOptions, Verb, missing

_SUBJECT = 72


class Land(Struct, frozen=True):
    batches: tuple[int, ...]
    action: str


def step(run: Run, options: NoOptions, place: str) -> tuple[Action, ...]:  # noqa: ARG001 - the signature of every step
    verified = run.work.verified
    if verified is None or not verified.passed:
        return ()
    return missing(run, Action("land", Land(verified.passed, f"{run.id}/{place}/land"), f"{len(verified.passed)} commits"))


async def land(task: Land, run: Run, world: World) -> Committed:
    batches = [run.work.batches[number] for number in task.batches]
    patches = [run.work.patches[number] for number in task.batches]
    refused = await world.repository.hook("pre-commit", run.tip, patches)
    if refused:
        back = tuple(move for batch in batches for move in _rejected(batch, run, refused))
        return Committed(branch=run.branch, tip=run.tip, refused=refused, moves=back)
    drafts = [Draft(message(batch, run), patch) for batch, patch in zip(batches, patches, strict=True)]
    shas = await world.repository.commit_chain(run.branch, run.tip, drafts, task.action)
    if len(shas) != len(batches):
        raise RepositoryError(f"{len(batches)} commits were to be made on {run.branch}, and git has {len(shas)}")
    await world.repository.publish(run.branch)
    landed = tuple(Landed(batch.number, sha) for batch, sha in zip(batches, shas, strict=True))
    moves = tuple(
        Move(item, Fact.COMMITTED, by="punchlist", why=batch.title, proofs=proofs(batch, run), ref=sha, flag=_flag(batch))
        for batch, sha in zip(batches, shas, strict=True)
        for item in batch.items
    )
    return Committed(branch=run.branch, tip=shas[-1], landed=landed, moves=moves)


def _flag(batch: Batch) -> str:
    """The one case in which the judge may have been bent: its own files are what the finding is about."""
    return "touches the judge's own files (tests, checks or their configuration): look at it" if batch.protected else ""


def _rejected(batch: Batch, run: Run, refused: str) -> list[Move]:
    why = "a git hook refused the commit"
    return [
        Move(item, Fact.REJECTED, by="pre-commit", why=why, evidence=refused[-4000:], ref=key_of(run.items[item]))
        for item in batch.items
    ]


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
    """What was seen of this batch."""
    found: list[Proof] = []
    rechecked, verified = run.work.rechecked, run.work.verified
    judges = judged_by(batch.paths, run.baselines)
    if rechecked is not None and batch.number in rechecked.silent:
        reporters = {finding.source for number in batch.items for finding in run.items[number].findings}
        tools = sorted(reporters.intersection(run.started.reviewers if run.started is not None else ()))
        extra = f"; follow-up: {', '.join(rechecked.followed_by[batch.number])}" if batch.number in rechecked.followed_by else ""
        found.append(Proof(ProofClass.RECHECKED, f"no longer reported by {', '.join(tools)}{extra}"))
    if verified is not None and not verified.unverified and judges:
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


VERB = Verb("what is proven lands on a branch", NoOptions, step, {Land: land})
