"""Runs a check over a work tree and says what it told, what it printed, and why it may not be
believed.
"""

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.checks import kept_output as evidence
from punchlist.adapters.checks import sentinel
from punchlist.adapters.checks.environment import Ground, staged
from punchlist.adapters.checks.environment_stamp import stamp
from punchlist.adapters.checks.junit import LIMIT, untrusted
from punchlist.adapters.checks.test_ids import Names
from punchlist.adapters.checks.test_runners import DIALECTS, Session
from punchlist.adapters.checks.untracked_needs import leftovers
from punchlist.adapters.process.run import run
from punchlist.model.checks.check import Check, CheckResult
from punchlist.model.checks.protected import Protected
from punchlist.ports.tree import Tree

_SENTINEL_FAILURES = 25
"""After so many failures the planted one was seen or never will be; a few may be older than it."""


class Seen(Struct, frozen=True):
    """A result, and everything that was printed or reported, before trimming."""

    result: CheckResult
    text: str


class Runner:
    """Checks of one checkout. `hidden` are folders no check may look into, such as punchlist's own
    state.
    """

    def __init__(
        self, checkout: Path, *, hidden: Sequence[Path] = (), protected: Protected | None = None
    ) -> None:
        self._ground = Ground(checkout=checkout.resolve(), hidden=tuple(hidden))
        self._protected = protected or Protected()
        self._surveyed = asyncio.Lock()
        self._survey: Ground | None = None

    async def run(self, check: Check, tree: Tree, *, only: Sequence[str] = ()) -> CheckResult:
        return (await self._seen(check, tree, only=tuple(only))).result

    async def sentinel(self, check: Check, tree: Tree, kinds: Sequence[str]) -> str:
        """Breaks the tree for good; the caller throws it away."""
        planted = sentinel.plant(tree, self._protected, kinds)
        if not planted.files:
            return (
                "nothing to plant a failure in: the tree has no source file outside its tests and"
                " configuration"
            )
        seen = await self._seen(check, tree, stop_after=_SENTINEL_FAILURES)
        return sentinel.judged(planted, seen.result, seen.text)

    async def ground(self, check: Check) -> str:
        return await asyncio.to_thread(stamp, check, await self._grounds())

    async def _seen(
        self, check: Check, tree: Tree, *, only: tuple[str, ...] = (), stop_after: int = 0
    ) -> Seen:
        ground = await self._grounds()
        names = Names(tree.files())
        with _reports() as folder:
            session = Session(
                check=check,
                reports=folder,
                root=tree.root,
                names=names,
                only=only,
                stop_after=stop_after,
            )
            return await _performed(session, tree, ground)

    async def _grounds(self) -> Ground:
        """The checkout's leftovers, looked up once."""
        async with self._surveyed:
            if self._survey is None:
                self._survey = replace(
                    self._ground, leftovers=await leftovers(self._ground.checkout)
                )
        return self._survey


@contextmanager
def _reports() -> Iterator[Path]:
    """A folder with a name nobody can guess, outside the tree, for what one run reports."""
    with tempfile.TemporaryDirectory(
        prefix="punchlist-check-", ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder).resolve()


async def _performed(session: Session, tree: Tree, ground: Ground) -> Seen:
    check, dialect = session.check, DIALECTS[session.check.kind]
    command = dialect.command(session)
    with staged(tree, ground, session.reports, command) as stage:
        ran = await run(
            command,
            cwd=stage.cwd,
            env=stage.env,
            walls=stage.walls,
            timeout=check.timeout,
            limit=evidence.LIMIT,
            trim=True,
        )
    told = dialect.told(session, ran)
    printed = evidence.both(ran)
    result = CheckResult(
        check=check.name,
        exit_code=ran.exit_code,
        seconds=ran.seconds,
        tests=told.tests,
        output=evidence.trimmed(printed),
        trouble=ran.trouble or told.trouble,
    )
    return Seen(result, printed + _reported(session.reports / "junit.xml"))


def _reported(path: Path) -> str:
    try:
        return untrusted(path, LIMIT).decode(errors="replace")
    except OSError:
        return ""
