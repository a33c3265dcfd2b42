"""Pull requests on Gitea and Forgejo."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from punchlist.adapters.forges.board_writer import BoardWriter
from punchlist.adapters.forges.gitea.api import GiteaApi, GiteaPull
from punchlist.adapters.forges.gitea.checks import GiteaCheckWriter
from punchlist.adapters.forges.gitea.reader import GiteaReader
from punchlist.adapters.forges.gitea.stacks import GiteaStacks
from punchlist.adapters.forges.gitea.updates import GiteaUpdates
from punchlist.adapters.forges.stack_writer import StackWriter
from punchlist.adapters.rest.client import RequestRefused, RestClient
from punchlist.adapters.rest.place import ForgePlace
from punchlist.adapters.rest.retry import GONE, NotThere, Pacing, Unavailable
from punchlist.ports.forge.forge import ShownBoard, ShownStack
from punchlist.views.pulls.board import Board, CheckResult
from punchlist.views.pulls.conversation import Conversation, PullRequest
from punchlist.views.pulls.markup import GITEA
from punchlist.views.pulls.stack import StackBoard, StackedPull


class GiteaForge:
    """Pull requests of one repository."""

    def __init__(self, place: ForgePlace, pacing: Pacing | None = None) -> None:
        self.name = place.style.kind
        self._place = place
        self._pacing = pacing or Pacing()
        self._posted: dict[int, set[str]] = {}

    async def find_pull(self, branch: str) -> int | None:
        async with self._open_api() as (api, _):
            found = [
                pull
                for pull in await api.list_pulls()
                if pull.head.ref == branch and not _is_fork(pull, api.repository)
            ]
            return found[0].number if found else None

    async def read_viewer(self) -> str:
        async with self._open_api() as (api, _):
            return await api.read_viewer()

    async def change(self, number: int) -> PullRequest:
        async with self._open_api() as (api, _):
            try:
                pull = await api.read_pull(number)
            except RequestRefused as refused:
                why = f"{api.repository} pull request {number}: {refused}"
                hint = "does it exist, and may the token see it?"
                kind = NotThere if refused.status in GONE else Unavailable
                raise kind(why, hint=hint) from refused
            return PullRequest(
                number=pull.number,
                repository=api.repository,
                url=pull.html_url,
                base=pull.base.sha,
                head=pull.head.sha,
                base_name=pull.base.ref,
                head_name=pull.head.ref,
                ref=f"refs/pull/{pull.number}/head",
                title=pull.title,
                body=pull.body,
                author=pull.user.login if pull.user else "",
                fork=_is_fork(pull, api.repository),
                open=pull.state == "open",
                markup=GITEA,
            )

    async def heard(self, pull: PullRequest) -> Conversation:
        async with self._open_api() as (api, _):
            return await GiteaReader(api).read_all(pull)

    async def show(self, pull: PullRequest, board: Board) -> ShownBoard:
        async with self._open_api() as (api, rest):
            posted = self._posted.setdefault(pull.number, set())
            updates = GiteaUpdates(api, self._place.style.name)
            shown = await BoardWriter(updates, rest.patience, pull, posted).show(board)
            notes = await GiteaCheckWriter(api, rest.patience).conclude(board.check)
            return ShownBoard(
                updates=shown.updates, unplaced=shown.unplaced, notes=(*shown.notes, *notes)
            )

    async def find_stacks(self, branch: str) -> tuple[StackedPull, ...]:
        async with self._open_api() as (api, rest):
            stacks = GiteaStacks(api, self._place.style.name)
            return await StackWriter(stacks, rest.patience).find(branch)

    async def show_stack(self, board: StackBoard) -> ShownStack:
        async with self._open_api() as (api, rest):
            stacks = GiteaStacks(api, self._place.style.name)
            return await StackWriter(stacks, rest.patience).show(board)

    async def conclude(self, pull: PullRequest, check: CheckResult) -> tuple[str, ...]:
        async with self._open_api() as (api, rest):
            return await GiteaCheckWriter(api, rest.patience).conclude(check)

    async def make_git_login(self) -> dict[str, str]:
        return await self._place.make_git_login(self._pacing)

    @asynccontextmanager
    async def _open_api(self) -> AsyncIterator[tuple[GiteaApi, RestClient]]:
        async with self._place.connect(self._pacing) as (rest, repository):
            yield GiteaApi(rest, repository), rest


def _is_fork(pull: GiteaPull, repository: str) -> bool:
    theirs = pull.head.repo.full_name if pull.head.repo else ""
    return theirs.casefold() != repository.casefold()
