"""What the language server asks of the app: looks, fixes, dismissals, and runs for one item."""

import asyncio
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from punchlist.app.after.dismissals import ItemSelection, dismiss_items
from punchlist.app.drive.threaded import ThreadedDriver
from punchlist.app.look.open_items import PlacedItem, load_open_items
from punchlist.app.look.proven_fixes import ProvenFix, load_proven_fixes
from punchlist.app.look.review import EditorLook, record_look, review_saved_files
from punchlist.app.repositories import RepositoryEntry, find_repository
from punchlist.app.session import Session
from punchlist.app.start.findings_files import choose_items
from punchlist.app.start.request import Request
from punchlist.app.workspace import Workspace
from punchlist.errors import RepositoryError, UsageError
from punchlist.model.ledger.earlier_runs import Dismissal
from punchlist.model.ledger.run import Run

_LOOKS = 16
"""How many of the newest looks users can act on."""


_RUNS = 5
"""How many of the newest runs are searched for open items and fixes."""


class EditorRepository(Struct, frozen=True):
    """What is known of a repository since its last review."""

    look: EditorLook
    items: tuple[PlacedItem, ...]
    fixes: tuple[ProvenFix, ...]
    agents: bool
    """Whether an agent is set up, which can be asked to fix an item."""


class EditorSession(Workspace[ThreadedDriver]):
    """`who` is the user's login name, for users that git does not know."""

    def __init__(self, home: Path, flags: Mapping[str, str], who: str) -> None:
        super().__init__(Session(home, None, flags), ThreadedDriver(), flags)
        self._who = who
        self._looks: dict[str, EditorLook] = {}
        self.views: dict[str, EditorRepository] = {}
        """By root: the last review of each repository."""

    async def close(self) -> None:
        await self.driving.close()
        self.session.close()

    async def locate(self, file: Path) -> tuple[RepositoryEntry, str] | None:
        """Return the repository of a file and the file's path in it; None if it has none."""
        try:
            repository = await find_repository(file.parent)
        except (RepositoryError, UsageError):
            return None
        inside = (file.parent.resolve() / file.name).relative_to(Path(repository.root).resolve())
        return repository, inside.as_posix()

    async def review(self, root: str, paths: list[str]) -> EditorRepository | None:
        """Review the files as they are saved; None if git knows none of them."""
        with closing(await self._open(root)) as session:
            look = await review_saved_files(session, paths)
            if look is None:
                self.views.pop(root, None)
                return None
            runs = [await asyncio.to_thread(self.load, row.id) for row in session.runs()[:_RUNS]]
            items = await load_open_items(session, look, runs)
            fixes = await load_proven_fixes(session, runs)
            settings = session.settings().settings
        fixer = settings.role.get("fixer")
        agents = bool(settings.agents.use or (fixer and fixer.agents))
        self._remember(look)
        view = self.views[root] = EditorRepository(look, items, fixes, agents)
        return view

    def _remember(self, look: EditorLook) -> None:
        """Keep the look: a user may act on what was shown before the newest one."""
        self._looks[look.run.id] = look
        if len(self._looks) > _LOOKS:
            del self._looks[next(iter(self._looks))]

    async def dismiss_item(self, root: str, run: str, number: int, why: str) -> None:
        """Dismiss an item under the user's name, in a thread; a look is recorded first."""
        session = await self._open(root)
        with closing(session):
            saying = Dismissal(await session.who() or self._who, why, "")
            chosen = ItemSelection(numbers=(number,))

            def write() -> None:
                self._record(session, run)
                dismiss_items(session, run, chosen, saying)

            await asyncio.to_thread(write)

    async def fix_item(self, root: str, run: str, number: int) -> str:
        """Start a run that works on one item only; return its id. The files must be committed."""
        with closing(await self._open(root)) as session:
            earlier = self._record(session, run)
            path = earlier.items[number].current.spot.path if number in earlier.items else ""
            view = self.views.get(root)
            if view and path in view.look.changed:
                raise UsageError(
                    f"{path} has changes that are not committed, and a run works on commits",
                    hint="commit them, then try again",
                )
            request = choose_items(session, Request(), run, (number,))
        return await self.begin_run(self._open(root), lambda: request)

    async def wait_for(self, run: str) -> Run:
        """Return a run that this process drives, once it has ended or stopped."""
        await self.driving.wait_settled(run)
        return self.load(run)

    def _record(self, session: Session, run: str) -> Run:
        """Return the run; if it is a look that is only in memory, record it first."""
        look = self._looks.get(run)
        return record_look(session, look) if look else session.load(run)

    async def _open(self, root: str) -> Session:
        return await Session.open(Path(root), self._flags)
