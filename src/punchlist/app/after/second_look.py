"""A second look at items of an earlier run: do their reporters see them again?

Nothing here says fixed: a reporter that checked the whole file and is silent has only not seen
the item again.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from punchlist.adapters.analyzers.registry import suppressions_of
from punchlist.adapters.git.command import decode_text, split_fields
from punchlist.app.session import Session
from punchlist.app.start.request import Request
from punchlist.errors import UsageError
from punchlist.model.checks.protected import matches_any
from punchlist.model.dedup.identity import match_findings
from punchlist.model.finding.finding import Finding
from punchlist.model.integrity.suppressions import Suppressions
from punchlist.model.item.item import Item
from punchlist.model.ledger.events import Baselined
from punchlist.model.ledger.run import Run
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


class NewSuppressions(Struct, frozen=True):
    """Files that hide more from the tools than before, and changed tool settings."""

    files: frozenset[str] = frozenset()
    settings: tuple[str, ...] = ()


async def make_request(session: Session, earlier: Run, numbers: Sequence[int]) -> Request:
    """Return the request to review these items' files at the checked-out commit."""
    if session.checkout is None:
        raise UsageError("a second look needs the repository", hint="go to it and try again")
    paths = _item_paths(earlier, numbers)
    there = [
        path
        for path in paths
        if await session.checkout.read_file(session.checkout.head, path) is not None
    ]
    return Request(kind=ScopeKind.ALL, paths=tuple(there), workflow=WORKFLOW, force=True)


def is_look(look: Run, earlier: Run) -> bool:
    """Return whether `look` is a second look that began after the earlier run."""
    return (
        look.started.workflow_name == WORKFLOW
        and look.started.repository == earlier.started.repository
        and look.started_at >= earlier.started_at
    )


async def find_suppressions(
    session: Session, earlier: Run, numbers: Sequence[int], later: Run
) -> NewSuppressions:
    """Compare the two reviewed commits; the first may be gone."""
    checkout = session.checkout
    if checkout is None:
        return NewSuppressions()
    before, after = earlier.started.change.head, later.started.change.head
    files = {
        path: (await checkout.read_file(before, path), await checkout.read_file(after, path))
        for path in _item_paths(earlier, numbers)
    }
    differ = await checkout.git.run(
        "diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after
    )
    settings = session.settings().settings
    marks = suppressions_of(settings.analyzers)
    return NewSuppressions(
        frozenset(
            path
            for path, (old, new) in files.items()
            if _count_hidden(path, new, marks) > _count_hidden(path, old, marks)
        ),
        tuple(
            path
            for path in split_fields(differ.stdout)
            if matches_any(path, settings.protected.steering)
        ),
    )


def _count_hidden(path: str, content: bytes | None, marks: Suppressions) -> int:
    return marks.count_in_file(path, decode_text(content)) if content is not None else 0


def _item_paths(earlier: Run, numbers: Sequence[int]) -> list[str]:
    return sorted(
        {finding.spot.path for number in numbers for finding in earlier.items[number].findings}
        - {""}
    )


def judge_items(
    earlier: Run, numbers: Sequence[int], later: Run, quiet: NewSuppressions
) -> tuple[LookVerdict, ...]:
    """Return what the later run says of items of the earlier one."""
    old = [(item.number, finding) for item in earlier.items.values() for finding in item.sighted]
    new = [(item.number, finding) for item in later.items.values() for finding in item.findings]
    pairs = match_findings([finding for _, finding in old], [finding for _, finding in new])
    again = {old[mine][0]: new[other][0] for other, mine in pairs.items()}
    others = [item for item in later.items.values() if item.number not in again.values()]
    return tuple(
        _judge_item(earlier.items[number], again.get(number), others, later, quiet)
        for number in numbers
    )


def _judge_item(
    item: Item, again: int | None, others: Sequence[Item], later: Run, quiet: NewSuppressions
) -> LookVerdict:
    if again is not None:
        place = later.items[again].lead.spot
        return _make_verdict(
            item,
            ItemPresence.STILL_THERE,
            f"seen again at {place.path}:{place.line or '?'} (item {again} of run {later.id})",
        )
    alike = _find_similar(item, others)
    if alike:
        where = f"item {alike.number} of run {later.id}"
        return _make_verdict(
            item,
            ItemPresence.UNKNOWN,
            f"something very like it is in the same file ({where}): look at it",
        )
    silent, blind = _split_reporters(item, later)
    if blind or not silent:
        return _make_verdict(
            item, ItemPresence.UNKNOWN, "; ".join(blind) or "its reviewers did not look again"
        )
    if hidden := sorted(quiet.files & {finding.spot.path for finding in item.sighted}):
        return _make_verdict(
            item,
            ItemPresence.UNKNOWN,
            f"not seen again, but more of {hidden[0]} is hidden from tools than before",
        )
    commit = later.started.change.head[:12]
    steered = (
        f"; but what steers tools has changed since: {', '.join(quiet.settings[:3])}"
        if quiet.settings
        else ""
    )
    return _make_verdict(
        item, ItemPresence.GONE, f"not seen again by {', '.join(silent)} at {commit}{steered}"
    )


def _make_verdict(item: Item, seen: ItemPresence, said: str) -> LookVerdict:
    return LookVerdict(
        number=item.number, code=item_code(item.number), title=item.lead.title, seen=seen, said=said
    )


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
            blind.append(
                f"{source} did not look to the end{': ' + review.failed if review.failed else ''}"
            )
        else:
            silent.append(source)
    return silent, blind


def describe_checks(run: Run) -> Iterator[str]:
    """Yield what the project's checks say of the commit."""
    started = run.started
    if not started.checks:
        yield "no checks were found: nothing ran"
        return
    if not started.checks_allowed:
        yield "checks were not run: they are not allowed (punchlist allow)"
        return
    for check in started.checks:
        yield f"{check.name}: {_describe_baseline(run.checks.baselines.get(check.name))}"


def _describe_baseline(seen: Baselined | None) -> str:
    if seen is None:
        return "not run"
    if seen.unusable:
        return f"cannot judge here: {seen.unusable}"
    if seen.failed:
        return f"red: {pluralize(seen.failed, 'test fails', 'tests fail')}, {seen.passed} pass"
    return (
        f"green: {pluralize(seen.passed, 'test passes', 'tests pass')}"
        if seen.passed
        else f"exit code {seen.exit_code}"
    )
