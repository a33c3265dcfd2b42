"""The pull requests that runs of some repositories are about, and notices of more."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from punchlist.app.repositories import RepositoryEntry
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.fold import fold_entries
from punchlist.ports.serving.pull_notices import KeptNotice
from punchlist.ports.store import Ledgers
from punchlist.views.tables.pulls import NoticeLine, PullCosts, PullLine, make_pull_line

_MOST = 25


class _PullRuns(Struct):
    """The runs about one pull request; `at` is when the newest one began."""

    repository: str
    newest: str = ""
    at: float = 0
    runs: set[str] = set()


def list_pulls(
    store: Ledgers, repositories: Iterable[RepositoryEntry], is_driven: Callable[[str], bool]
) -> tuple[PullLine, ...]:
    """Return the pull requests with the newest runs, the newest first."""
    found: dict[str, _PullRuns] = {}
    for each in repositories:
        for entry in store.read_kind("started", each.key.path, each.key.identity):
            pull = entry.event.pull if isinstance(entry.event, Started) else ""
            if pull:
                known = found.setdefault(pull, _PullRuns(each.name))
                known.runs.add(entry.run)
                if entry.at >= known.at:
                    known.newest, known.at = entry.run, entry.at
    newest = sorted(found.values(), key=lambda each: each.at, reverse=True)[:_MOST]
    return tuple(_make_line(store, each, driven=is_driven(each.newest)) for each in newest)


def list_notices(
    kept: Iterable[KeptNotice], repositories: Iterable[RepositoryEntry]
) -> tuple[NoticeLine, ...]:
    """Return the notices about registered repositories that are not answered yet."""
    names = {each.id: each.name for each in repositories}
    return tuple(_make_notice(each, names[each.place]) for each in kept if each.place in names)


def _make_notice(kept: KeptNotice, repository: str) -> NoticeLine:
    notice = kept.notice
    state = "waits"
    if kept.over:
        state = "not answered"
    elif kept.tries:
        times = "once" if kept.tries == 1 else f"{kept.tries} times"
        state = f"tried {times}, again " + (f"in {kept.rest:.0f} s" if kept.rest else "now")
    sign = "!" if notice.forge == "gitlab" else "#"
    return NoticeLine(
        pull=f"{notice.repository}{sign}{notice.number}",
        repository=repository,
        age=kept.age,
        state=state,
        why=kept.why,
        over=kept.over,
    )


def _make_line(store: Ledgers, known: _PullRuns, *, driven: bool) -> PullLine:
    run = fold_entries(known.newest, store.read(known.newest))
    costs = PullCosts(len(known.runs), store.sum_usage(0, known.runs).dollars)
    return make_pull_line(run, known.repository, costs, driven=driven)
