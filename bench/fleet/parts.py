"""What the benches of a fleet share: a PostgreSQL server of their own, ledgers, percentiles."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from postgres_server import start_server
from punchlist.adapters.postgres.state import PostgresState
from punchlist.app.stores import upgrade_store
from punchlist.model.ledger import events as ev
from punchlist.model.patch.change import Change, ScopeKind


@contextmanager
def open_fleet(folder: Path) -> Iterator[tuple[str, PostgresState]]:
    """Yield the URL of a new database on the disk of temporary files, and its state."""
    with start_server(durable=True) as server:
        url = server.make_database("bench")
        upgrade_store(url)
        with closing(PostgresState(url, folder)) as state:
            yield url, state


def make_started(git_dir: str) -> ev.Started:
    return ev.Started(
        repository=git_dir, change=Change(kind=ScopeKind.ALL, base="0" * 40, head="0" * 40), workflow_name="proven",
        workflow="steps: []", settings="{}", reviewers=(), checks=(), checks_allowed=False, version="0",
    )  # fmt: skip


def percentile(seconds: Sequence[float], part: float) -> float:
    """Return milliseconds."""
    return 1000 * sorted(seconds)[min(int(len(seconds) * part), len(seconds) - 1)]
