"""A second look at items of an earlier run: do their reporters see them again?

Nothing here says fixed: a reporter that checked the whole file and is silent has only not seen
the item again.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from punchlist.app.after.hidden_findings import HiddenFindings, list_item_paths
from punchlist.app.session import Session
from punchlist.app.start.request import Request
from punchlist.errors import UsageError
from punchlist.model.dedup.identity import match_findings
from punchlist.model.finding.finding import Finding
from punchlist.model.item.item import Item
from punchlist.model.ledger.events import Baselined, Started
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.run_row import RepositoryKey
from punchlist.model.ledger.timeline import pluralize
from punchlist.model.patch.change import ScopeKind
from punchlist.views.plans.plan_forms import item_code

WORKFLOW = "again"


class ItemPresence(StrEnum):
    """UNKNOWN: no reporter of the item could check its file to the end."""

    STILL_THERE = "still there"
    GONE = "gone"
    UNKNOWN = "unknown"


class LookVerdict(Struct, frozen=True, kw_only=True):
    number: int
    code: str
    title: str
    seen: ItemPresence
    said: str


async def make_request(session: Session, earlier: Run, numbers: Sequence[int]) -> Request:
    """Return the request to review these items' files at the checked-out commit."""
    if session.checkout is None:
        raise UsageError("a second look needs the repository", hint="go to it and try again")
    read, head = session.checkout.read_file, session.checkout.head
    paths = [
        path for path in list_item_paths(earlier, numbers) if await read(head, path) is not None
    ]
    return Request(kind=ScopeKind.ALL, paths=tuple(paths), workflow=WORKFLOW, force=True)


def is_look(look: Run, earlier: Run) -> bool:
    """Return whether `look` is a second look that began after the earlier run."""
    return (
        look.started.workflow_name == WORKFLOW
        and _is_same(look.started, earlier.started)
        and look.started_at >= earlier.started_at
    )


def _is_same(look: Started, earlier: Started) -> bool:
    key = RepositoryKey(look.repository, look.identity)
    return key.owns(earlier.repository, earlier.identity)


def judge_items(
    earlier: Run, numbers: Sequence[int], later: Run, hidden: HiddenFindings
) -> tuple[LookVerdict, ...]:
    """Return what the later run says of items of the earlier one."""
    old = [(item.number, finding) for item in earlier.items.values() for finding in item.sighted]
    new = [(item.number, finding) for item in later.items.values() for finding in item.findings]
    pairs = match_findings([finding for _, finding in old], [finding for _, finding in new])
    again = {old[mine][0]: new[other][0] for other, mine in pairs.items()}
    others = [item for item in later.items.values() if item.number not in again.values()]
    verdicts = []
    for number in numbers:
        item, code = earlier.items[number], item_code(number)
        seen, said = _judge_item(item, again.get(number), others, later, hidden)
        title = item.lead.title
        verdicts.append(LookVerdict(number=number, code=code, title=title, seen=seen, said=said))
    return tuple(verdicts)


def _judge_item(
    item: Item, again: int | None, others: Sequence[Item], later: Run, hidden: HiddenFindings
) -> tuple[ItemPresence, str]:
    if again is not None:
        spot = later.items[again].lead.spot
        where = f"{spot.path}:{spot.line or '?'} (item {again} of run {later.id})"
        return ItemPresence.STILL_THERE, f"seen again at {where}"
    if item.number in hidden.seen:
        return ItemPresence.STILL_THERE, f"hidden, not gone: {hidden.seen[item.number]}"
    if alike := _find_similar(item, others):
        where = f"item {alike.number} of run {later.id}"
        said = f"something very like it is in the same file ({where}): look at it"
        return ItemPresence.UNKNOWN, said
    silent, blind = _split_reporters(item, later)
    if blind or not silent:
        return ItemPresence.UNKNOWN, "; ".join(blind) or "its reviewers did not look again"
    doubts = [
        f"{source} is silent, and that proves nothing: {hidden.unproven[source]}"
        for source in silent
        if source in hidden.unproven
    ]
    if len(doubts) == len(silent):
        return ItemPresence.UNKNOWN, "; ".join(doubts)
    said = f"not seen again by {', '.join(silent)} at {later.started.change.head[:12]}"
    return ItemPresence.GONE, said


def _find_similar(item: Item, others: Sequence[Item]) -> Item | None:
    """Return an item of the same source, rule and file about other code, or None."""
    names = set(map(_finding_key, item.sighted))
    return next(
        (each for each in others if not names.isdisjoint(map(_finding_key, each.findings))), None
    )


def _finding_key(finding: Finding) -> tuple[str, str, str]:
    return finding.source, finding.rule or finding.title, finding.spot.path


def _split_reporters(item: Item, later: Run) -> tuple[list[str], list[str]]:
    """Return the reporters that are silent now, and why the others cannot say."""
    silent, blind = [], []
    there = later.started.change.paths
    for source, path in sorted({(finding.source, finding.spot.path) for finding in item.sighted}):
        review = later.reviewing.reviews.get(source)
        if path not in there:
            blind.append(f"{path or 'its file'} is not in that commit, so it could not be reviewed")
        elif review is None:
            blind.append(f"{source} does not look again by itself")
        elif not review.has_seen(path):
            why = f": {review.failed}" if review.failed else ""
            blind.append(f"{source} did not look to the end{why}")
        else:
            silent.append(source)
    return silent, blind


def describe_checks(run: Run) -> Iterator[str]:
    """Yield what the project's checks say of the commit."""
    started = run.started
    if not started.checks and not started.seeks_checks:
        yield "checks were not looked for: the workflow runs none"
        return
    if not started.checks:
        yield "no checks were found: nothing ran"
        return
    if not started.checks_allowed:
        yield "checks were not run: they are not allowed (punchlist allow)"
        return
    for check in started.checks:
        yield f"{check.name}: {_describe_baseline(run.checks.find_baseline(check.name))}"


def _describe_baseline(seen: Baselined | None) -> str:
    if seen is None:
        return "not run"
    if seen.unusable:
        return f"cannot judge here: {seen.unusable}"
    if seen.failed:
        return f"red: {pluralize(seen.failed, 'test fails', 'tests fail')}, {seen.passed} pass"
    if seen.passed:
        return f"green: {pluralize(seen.passed, 'test passes', 'tests pass')}"
    return f"exit code {seen.exit_code}"
