"""commit: proven batches become commits, one per batch, all or none; the branch that the user sees
has them grouped.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from punchlist.errors import RepositoryError
from punchlist.model.checks.changed_lines import LineCount
from punchlist.model.checks.coverage import explain_unjudged, find_judges
from punchlist.model.checks.protected import matches_any
from punchlist.model.integrity.patch_ownership import BESIDE
from punchlist.model.item.batch import Batch, CommitGrouping
from punchlist.model.item.item import Fact, Move
from punchlist.model.item.proof import Proof, ProofClass, strongest_proof
from punchlist.model.item.score import lowest_scores
from punchlist.model.ledger.events import Baselined, Committed, Failed, Landed, Published, Returned
from punchlist.model.ledger.run import Run
from punchlist.ports.repository import Draft, Heard
from punchlist.ports.world import World
from punchlist.steps.judging.baseline import judge_view
from punchlist.steps.judging.patch_text_scan import PROSE
from punchlist.steps.support.arrange_commits import (
    arrange_commits,
    describe_item,
    keep_commits,
    make_subject,
    one_line,
    render_trailers,
)
from punchlist.steps.support.batching import standing, tried_key
from punchlist.steps.verb import Action, Verb, VerbOptions, select_pending
from punchlist.views.item_words import describe_proof

UNHEARD = (
    "it may run what the repository names, and that was not allowed; `punchlist allow` or --yes"
    " lets it"
)


class Options(VerbOptions, frozen=True):
    """`needs`: the least proof for an agent's fix to be committed; `claim` accepts its word, if
    there is a diff. `commits`: how fixes are grouped in commits, whatever the settings say.
    """

    needs: ProofClass = ProofClass.CHECKED
    commits: CommitGrouping | None = None


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
    by: CommitGrouping = CommitGrouping.MADE


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    """Give back unproven batches, then commit the proven ones, then publish what the user's
    repository lacks.
    """
    judged = [batch for batch in standing(run) if run.claimed_items(batch)]
    passed = tuple(batch.number for batch in judged if is_proven(batch, run, options.needs))
    unproven = tuple(
        batch.number for batch in judged if batch.uses_agent and batch.number not in passed
    )
    landing = run.landing
    actions: list[Action] = []
    if unproven:
        task = GiveBack(unproven, options.needs)
        actions.append(Action("unproven", task, "what is unproven goes back"))
    if passed:
        land = Land(passed, f"{run.id}/{place}/land")
        actions.append(Action("land", land, f"{len(passed)} commits", whole=True))
    if landing.landed and (landing.published, landing.source) != (landing.arranged, landing.tip):
        by = _choose_grouping(options, run)
        publish = Publish(landing.branch, landing.tip, by)
        actions.append(Action("publish", publish, f"{landing.branch} is shown", whole=True))
    return select_pending(run, *actions)[:1]


def _choose_grouping(options: Options, run: Run) -> CommitGrouping:
    """Return the workflow's grouping, else that of the settings; ROUND is only ever asked for."""
    asked = run.started.commits
    return asked if asked is CommitGrouping.ROUND else options.commits or asked


async def give_back(task: GiveBack, run: Run, world: World) -> Returned:
    """Reopen the items of agents' fixes that lack the required proof."""
    why = f"nothing proves it: it needs to be {task.needs}"
    moves: list[Move] = []
    for number in task.batches:
        batch = run.work.batches[number]
        if task.needs is ProofClass.REVIEWED and _lacks_verdict(batch, run):
            moves += _defer_unjudged(batch, run, why)
            continue
        blind = run.checks.unverified or explain_unjudged(
            _judged_paths(batch), run.checks.baselines
        )
        blind = blind or _untested_note(batch, run).removeprefix("; ")
        moves += [
            Move(item, Fact.REJECTED, by="commit", why=why, evidence=blind)
            for item in run.claimed_items(batch)
        ]
    return Returned(why=why, moves=tuple(moves))


def _lacks_verdict(batch: Batch, run: Run) -> bool:
    """Return whether a challenger was asked and gave no usable score for one of its items."""
    challenged = run.work.challenged
    if challenged is None:
        return False
    known = lowest_scores(challenged.scores)
    claimed = run.claimed_items(batch)
    return any(item not in known or not known[item].usable for item in claimed)


def _defer_unjudged(batch: Batch, run: Run, why: str) -> list[Move]:
    """Return moves that count as no attempt: the same fix would only be made once more."""
    challenged = run.work.challenged
    agent = challenged.agent if challenged is not None else "challenger"
    cause = challenged.failed if challenged is not None else ""
    said = f"{agent} gave no verdict on its fix ({cause}), and {why}"
    items = run.claimed_items(batch)
    return [Move(item, Fact.ABSENT, by=agent, why=said, ref="unjudged") for item in items]


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
    branch, tip = run.landing.branch, run.landing.tip
    shas = await world.repository.find_commits(branch, tip, action)
    hook = Heard() if shas else await _run_hook(batches, run, world)
    if hook.refused:
        moves = _reject_batches(batches, run, hook.refused)
        return Committed(branch=branch, tip=tip, refused=hook.refused, moves=moves)
    if not shas:
        drafts = [
            Draft(render_message(each, run), run.work.patches[each.number]) for each in batches
        ]
        shas = await world.repository.commit_chain(branch, tip, drafts, action)
    if len(shas) != len(batches):
        made = f"{len(batches)} commits were to be made on {branch}"
        raise RepositoryError(f"{made}, and git has {len(shas)}")
    pairs = list(zip(batches, shas, strict=True))
    moves = tuple(
        Move(
            item,
            Fact.COMMITTED,
            by="punchlist",
            why=_commit_title(batch, run),
            proofs=find_proofs(batch, run, item),
            ref=sha,
            flag="changes tests or CI configuration: review it" if batch.protected else "",
            notes=find_notes(batch, run),
        )
        for batch, sha in pairs
        for item in run.claimed_items(batch)
    )
    return Committed(
        branch=branch,
        tip=shas[-1],
        landed=tuple(_describe_landing(batch, sha, run) for batch, sha in pairs),
        moves=moves,
        unheard=UNHEARD if hook.unheard else "",
    )


def _describe_landing(batch: Batch, sha: str, run: Run) -> Landed:
    items = run.claimed_items(batch)
    rules = [run.items[item].current.rule for item in items[: 1 if batch.uses_agent else None]]
    named = ", ".join(sorted({rule for rule in rules if rule}))
    return Landed(batch.number, sha, items, named, batch.uses_agent, round=run.position.round)


async def publish_branch(task: Publish, run: Run, world: World) -> Published:
    """Group the commits and publish the branch; the next commit step and `apply` try again."""
    grouped = keep_commits(run)
    failed = ""
    try:
        grouped = await arrange_commits(run, world.repository, task.by)
        replaced = run.landing.published
        await world.repository.publish(task.branch, tip=grouped.tip, replaces=replaced)
    except RepositoryError as error:
        failed = f"{error} (hint: {error.hint})" if error.hint else str(error)
    source = task.tip if grouped.tip != task.tip else ""
    return Published(
        branch=task.branch, tip=grouped.tip, failed=failed, source=source, commits=grouped.commits
    )


async def _run_hook(batches: Sequence[Batch], run: Run, world: World) -> Heard:
    """Run the pre-commit hook with configuration files of the base."""
    patches = [run.work.patches[batch.number] for batch in batches]
    paths = {path for patch in patches for path in patch.paths}
    fixed = {path for path in paths if not matches_any(path, world.protected.configuration)}
    pristine = judge_view(world, fixed) if run.started.checks_allowed else None
    return await world.repository.run_hook(
        "pre-commit", run.landing.tip, patches, pristine=pristine
    )


def _list_claimed(batches: Sequence[Batch], run: Run) -> list[int]:
    return [item for batch in batches for item in run.claimed_items(batch)]


def _reject_batches(batches: Sequence[Batch], run: Run, refused: str) -> tuple[Move, ...]:
    return tuple(
        Move(
            item,
            Fact.REJECTED,
            by="pre-commit",
            why="a git hook refused the commit",
            evidence=refused[-4000:],
            ref=tried_key(batch, run.items[item]),
        )
        for batch in batches
        for item in run.claimed_items(batch)
    )


def _return_claims(batches: Sequence[Batch], run: Run, error: str) -> tuple[Move, ...]:
    """Return moves without a fix key, so that the same fixes may be tried again."""
    why = f"it could not be committed: {error}"
    items = _list_claimed(batches, run)
    return tuple(Move(item, Fact.REJECTED, by="git", why=why) for item in items)


def _commit_title(batch: Batch, run: Run) -> str:
    """Return the batch's title, or one that names only the items the agent fixed."""
    claims = run.claimed_items(batch)
    if not batch.uses_agent or not claims or len(claims) == len(batch.items):
        return batch.title
    more = f" and {len(claims) - 1} more" if len(claims) > 1 else ""
    return f"{run.items[claims[0]].current.title}{more}"


def render_message(batch: Batch, run: Run) -> str:
    """Render the commit message: subject, location, proofs, notes, and trailers for machines."""
    claims = run.claimed_items(batch) or batch.items
    round_ = run.position.round
    short = make_subject(run, _commit_title(batch, run), round_, claims)
    proofs = {item: find_proofs(batch, run, item) for item in claims}
    said = (describe_proof(proof) for item in claims for proof in proofs[item])
    lines = [f"Proof: {text}" for text in dict.fromkeys(map(one_line, said))]
    lines += [f"Note: {one_line(note)}" for note in find_notes(batch, run)]
    proven = "\n".join(lines)
    named = claims[: 1 if batch.uses_agent else None]
    about = "\n".join(describe_item(run.items[item]) for item in named)
    kinds = {item: [proof.kind for proof in proofs[item]] for item in claims}
    return "\n\n".join((short, about, proven, render_trailers(run, kinds, run.head)))


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


def find_notes(batch: Batch, run: Run) -> tuple[str, ...]:
    """Return what was seen of an agent's patch that is no proof; the user reads it beside them."""
    examined = run.work.examined.get(batch.number)
    seen = examined.noted if examined is not None else ()
    handed = run.work.noted.get(batch.number, ())
    # The examination says of each file itself that no finding is about it.
    more = (note for note in handed if not (seen and note.endswith(BESIDE)))
    return tuple(dict.fromkeys((*seen, *more)))


def _find_batch_proofs(batch: Batch, run: Run, item: int) -> Iterator[Proof]:
    """CHECKED is not granted if the batch edits protected files, or only lines that no check
    executes. RECHECKED is granted only for
    items the analyzer itself reported; in an agent's batch, per item.
    """
    rechecked, verified = run.work.rechecked, run.work.verified
    judges = find_judges(_judged_paths(batch), run.checks.baselines)
    numbers = (item,) if batch.uses_agent else batch.items
    reporters = {finding.source for number in numbers for finding in run.items[number].sighted}
    unproven = rechecked.unproven if rechecked is not None and batch.uses_agent else {}
    tools = sorted(reporters.intersection(run.started.reviewers).difference(unproven))
    if rechecked is not None and batch.number in rechecked.silent and tools:
        said = f"no longer reported by {', '.join(tools)}"
        if batch.number in rechecked.followed_by:
            said += f"; follow-up: {', '.join(rechecked.followed_by[batch.number])}"
        yield Proof(ProofClass.RECHECKED, f"{said}{_untested_note(batch, run)}")
    checked = verified is not None and not verified.unverified and judges and not batch.protected
    if checked and not _untested_note(batch, run):
        share = _count_lines(batch, run).words
        said = _describe_checks(run, judges)
        yield Proof(ProofClass.CHECKED, f"{said}, {share}" if share else said)


def _count_lines(batch: Batch, run: Run) -> LineCount:
    """Return how many changed lines the checks execute; nothing if that is not known."""
    verified = run.work.verified
    return verified.lines.get(batch.number, LineCount()) if verified is not None else LineCount()


def _untested_note(batch: Batch, run: Run) -> str:
    """Return a note if the checks execute none of the changed lines, or ''."""
    count = _count_lines(batch, run)
    return f"; no test executes {count.missing}" if count.missing and not count.executed else ""


def _find_agent_proofs(batch: Batch, run: Run, item: int) -> Iterator[Proof]:
    """Yield the agent's claim, the proofs of the examination, and the challenger's approval."""
    if not batch.uses_agent:
        return
    report = run.work.reports.get(item)
    why = (report.why if report else "") or "the agent says so, and there is a diff"
    scored, self_review = _find_approval(run, item)
    yield Proof(ProofClass.CLAIM, f"{why}; {self_review}" if self_review else why)
    examined = run.work.examined.get(batch.number)
    yield from examined.proofs.get(item, ()) if examined is not None else ()
    if scored:
        yield Proof(ProofClass.REVIEWED, scored)


def _find_approval(run: Run, item: int) -> tuple[str, str]:
    """Return what another agent's approval says, or "", and what self-review says, or ""."""
    challenged = run.work.challenged
    score = lowest_scores(challenged.scores).get(item) if challenged is not None else None
    if challenged is None or score is None or not score.approves(challenged.threshold):
        return "", ""
    if run.is_self_review("challenger", challenged.agent, run.items[item]):
        return "", f"self-review: {challenged.agent} scored its own fix {score.score}"
    canaries = f"; {challenged.canaries}" if challenged.canaries else ""
    return f"scored {score.score} by {challenged.agent}{canaries}", ""


def _judged_paths(batch: Batch) -> tuple[str, ...]:
    """Return the files a check must judge; an agent's batch of code and prose needs none for the
    prose.
    """
    code = tuple(path for path in batch.paths if not path.endswith(PROSE))
    return code if batch.uses_agent and code else batch.paths


def _describe_checks(run: Run, names: Iterable[str]) -> str:
    return "; ".join(_describe_check(run.checks.baselines[name]) for name in names)


def _describe_check(judge: Baselined) -> str:
    if not judge.passed and not judge.failed:
        return f"{judge.check}: exit code 0"
    failed = f", where {judge.failed} failed already" if judge.failed else ""
    lost = len(judge.unloaded)
    unloaded = f"; {lost} test files could not be loaded" if lost else ""
    return f"{judge.check}: {judge.passed} tests as on the base{failed}{unloaded}"


VERB = Verb(
    "what is proven lands on a branch",
    Options,
    step,
    {GiveBack: give_back, Land: land_batches, Publish: publish_branch},
    closes=True,
)
