"""The pull requests that runs of some repositories are about."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from punchlist.app.repositories import RepositoryEntry
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.fold import fold_entries
from punchlist.ports.store import Ledgers
from punchlist.views.tables.pulls import PullCosts, PullLine, make_pull_line

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


def _make_line(store: Ledgers, known: _PullRuns, *, driven: bool) -> PullLine:
    run = fold_entries(known.newest, store.read(known.newest))
    costs = PullCosts(len(known.runs), store.sum_usage(0, known.runs).dollars)
    return make_pull_line(run, known.repository, costs, driven=driven)
