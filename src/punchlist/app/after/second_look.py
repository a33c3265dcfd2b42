"""A second look at items outside of the run that found them: are they seen again, by those who
reported them?

Nothing here says fixed. Whoever reported a thing, looked at that file to the end and does not
report it any more has not seen it again; that is all that is known.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from punchlist.adapters.analyzers.registry import suppressions_of
from punchlist.adapters.git.command import fields, text_of
from punchlist.app.session import Session
from punchlist.app.start.request import Request
from punchlist.errors import UsageError
from punchlist.model.checks.protected import matches
from punchlist.model.dedup.identity import matched
from punchlist.model.finding.finding import Finding
from punchlist.model.integrity.suppressions import Suppressions
from punchlist.model.item.item import Item
from punchlist.model.ledger.events import Baselined
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import amount
from punchlist.model.patch.change import ScopeKind
from punchlist.views.plan_forms import code

WORKFLOW = "again"


class Seen(StrEnum):
    """UNKNOWN: nobody who reported it could look again, or not to the end."""

    STILL_THERE = "still there"
    GONE = "gone"
    UNKNOWN = "unknown"


class Verdict(Struct, frozen=True, kw_only=True):
    number: int
    code: str
    title: str
    seen: Seen
    said: str


class Hush(Struct, frozen=True):
    """What may keep a tool silent that spoke before: files that hide more from the tools by now,
    and their changed settings.
    """

    files: frozenset[str] = frozenset()
    settings: tuple[str, ...] = ()


async def request(session: Session, earlier: Run, numbers: Sequence[int]) -> Request:
    """A review of the files of these items, as the checked-out commit has them."""
    if session.checkout is None:
        raise UsageError("a second look needs the repository", hint="go to it and try again")
    paths = _paths(earlier, numbers)
    there = [
        path
        for path in paths
        if await session.checkout.show(session.checkout.head, path) is not None
    ]
    return Request(kind=ScopeKind.ALL, paths=tuple(there), workflow=WORKFLOW, force=True)


def is_look(look: Run, earlier: Run) -> bool:
    """Whether a run is a second look at what an earlier one found: one that began before it has
    seen nothing again.
    """
    return (
        look.started.workflow_name == WORKFLOW
        and look.started.repository == earlier.started.repository
        and look.started_at >= earlier.started_at
    )


async def hush(session: Session, earlier: Run, numbers: Sequence[int], later: Run) -> Hush:
    """Between the commit that was reviewed and the one that was looked at again. The first may not
    be there any more.
    """
    checkout = session.checkout
    if checkout is None:
        return Hush()
    before, after = earlier.started.change.head, later.started.change.head
    files = {
        path: (await checkout.show(before, path), await checkout.show(after, path))
        for path in _paths(earlier, numbers)
    }
    differ = await checkout.git.ran(
        "diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after
    )
    settings = session.settings().settings
    marks = suppressions_of(settings.analyzers)
    return Hush(
        frozenset(
            path
            for path, (old, new) in files.items()
            if _hidden(path, new, marks) > _hidden(path, old, marks)
        ),
        tuple(path for path in fields(differ.stdout) if matches(path, settings.protected.steering)),
    )


def _hidden(path: str, content: bytes | None, marks: Suppressions) -> int:
    return marks.count_in_file(path, text_of(content)) if content is not None else 0


def _paths(earlier: Run, numbers: Sequence[int]) -> list[str]:
    return sorted(
        {finding.spot.path for number in numbers for finding in earlier.items[number].findings}
        - {""}
    )


def verdicts(earlier: Run, numbers: Sequence[int], later: Run, quiet: Hush) -> tuple[Verdict, ...]:
    """What the later run says of items of the earlier one."""
    old = [(item.number, finding) for item in earlier.items.values() for finding in item.sighted]
    new = [(item.number, finding) for item in later.items.values() for finding in item.findings]
    pairs = matched([finding for _, finding in old], [finding for _, finding in new])
    again = {old[mine][0]: new[other][0] for other, mine in pairs.items()}
    others = [item for item in later.items.values() if item.number not in again.values()]
    return tuple(
        _verdict(earlier.items[number], again.get(number), others, later, quiet)
        for number in numbers
    )


def _verdict(
    item: Item, again: int | None, others: Sequence[Item], later: Run, quiet: Hush
) -> Verdict:
    if again is not None:
        place = later.items[again].lead.spot
        return _told(
            item,
            Seen.STILL_THERE,
            f"seen again at {place.path}:{place.line or '?'} (item {again} of run {later.id})",
        )
    alike = _alike(item, others)
    if alike:
        where = f"item {alike.number} of run {later.id}"
        return _told(
            item, Seen.UNKNOWN, f"something very like it is in the same file ({where}): look at it"
        )
    silent, blind = _witnesses(item, later)
    if blind or not silent:
        return _told(item, Seen.UNKNOWN, "; ".join(blind) or "its reviewers did not look again")
    if hidden := sorted(quiet.files & {finding.spot.path for finding in item.sighted}):
        return _told(
            item,
            Seen.UNKNOWN,
            f"not seen again, but more of {hidden[0]} is hidden from tools than before",
        )
    commit = later.started.change.head[:12]
    steered = (
        f"; but what steers tools has changed since: {', '.join(quiet.settings[:3])}"
        if quiet.settings
        else ""
    )
    return _told(item, Seen.GONE, f"not seen again by {', '.join(silent)} at {commit}{steered}")


def _told(item: Item, seen: Seen, said: str) -> Verdict:
    return Verdict(
        number=item.number, code=code(item.number), title=item.lead.title, seen=seen, said=said
    )


def _alike(item: Item, others: Sequence[Item]) -> Item | None:
    """The same source names the same rule in the same file, about other code: perhaps the same
    thing in a new dress.
    """
    names = set(map(_name, item.sighted))
    return next((each for each in others if not names.isdisjoint(map(_name, each.findings))), None)


def _name(finding: Finding) -> tuple[str, str, str]:
    return finding.source, finding.rule or finding.title, finding.spot.path


def _witnesses(item: Item, later: Run) -> tuple[list[str], list[str]]:
    """Who reported it and saw the file without it; and why others cannot say."""
    silent, blind = [], []
    there = later.started.change.paths
    for source, path in sorted({(finding.source, finding.spot.path) for finding in item.sighted}):
        review = later.reviewing.reviews.get(source)
        if path not in there:
            blind.append(f"{path or 'its file'} is not in that commit, so it could not be reviewed")
        elif review is None:
            blind.append(f"{source} does not look again by itself")
        elif not review.saw(path):
            blind.append(
                f"{source} did not look to the end{': ' + review.failed if review.failed else ''}"
            )
        else:
            silent.append(source)
    return silent, blind


def checks(run: Run) -> Iterator[str]:
    """What the project's checks say of the commit that was looked at."""
    started = run.started
    if not started.checks:
        yield "no checks were found: nothing ran"
        return
    if not started.checks_allowed:
        yield "checks were not run: they are not allowed (punchlist allow)"
        return
    for check in started.checks:
        yield f"{check.name}: {_result(run.checks.baselines.get(check.name))}"


def _result(seen: Baselined | None) -> str:
    if seen is None:
        return "not run"
    if seen.unusable:
        return f"cannot judge here: {seen.unusable}"
    if seen.failed:
        return f"red: {amount(seen.failed, 'test fails', 'tests fail')}, {seen.passed} pass"
    return (
        f"green: {amount(seen.passed, 'test passes', 'tests pass')}"
        if seen.passed
        else f"exit code {seen.exit_code}"
    )
