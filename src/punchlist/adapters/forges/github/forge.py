"""Pull requests on GitHub."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from punchlist.adapters.forges.board_writer import BoardWriter
from punchlist.adapters.forges.github.api import PullsApi
from punchlist.adapters.forges.github.checks import CheckWriter
from punchlist.adapters.forges.github.reader import ConversationReader, plain_login
from punchlist.adapters.forges.github.stacks import GithubStacks
from punchlist.adapters.forges.github.updates import GithubUpdates
from punchlist.adapters.forges.stack_writer import StackWriter
from punchlist.adapters.rest.client import RequestRefused, RestClient
from punchlist.adapters.rest.place import ForgePlace
from punchlist.adapters.rest.retry import GONE, NotThere, Pacing, Unavailable
from punchlist.ports.forge.forge import ShownBoard, ShownStack
from punchlist.views.pulls.board import Board, CheckResult
from punchlist.views.pulls.conversation import Conversation, PullRequest
from punchlist.views.pulls.stack import StackBoard, StackedPull


class GithubForge:
    """Pull requests of one repository."""

    name = "github"

    def __init__(self, place: ForgePlace, pacing: Pacing | None = None) -> None:
        self._place = place
        self._pacing = pacing or Pacing()
        self._posted: dict[int, set[str]] = {}

    async def find_pull(self, branch: str) -> int | None:
        async with self._open_api() as (api, _):
            found = await api.find_pulls(branch)
            return found[0].number if found else None

    async def read_viewer(self) -> str:
        async with self._open_api() as (api, _):
            return plain_login(await api.read_viewer())

    async def change(self, number: int) -> PullRequest:
        async with self._open_api() as (api, _):
            try:
                pull = await api.read_pull(number)
            except RequestRefused as refused:
                why = f"{api.repository} pull request {number}: {refused}"
                hint = "does it exist, and may the token see it?"
                kind = NotThere if refused.status in GONE else Unavailable
                raise kind(why, hint=hint) from refused
            theirs = pull.head.repo.full_name if pull.head.repo else ""
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
                body=pull.body or "",
                author=pull.user.login if pull.user else "",
                fork=theirs.casefold() != api.repository.casefold(),
                open=pull.state == "open",
            )

    async def heard(self, pull: PullRequest) -> Conversation:
        async with self._open_api() as (api, _):
            return await ConversationReader(api).read_all(pull)

    async def show(self, pull: PullRequest, board: Board) -> ShownBoard:
        async with self._open_api() as (api, rest):
            posted = self._posted.setdefault(pull.number, set())
            shown = await BoardWriter(GithubUpdates(api), rest.patience, pull, posted).show(board)
            notes = await CheckWriter(api, rest.patience).conclude(board.check)
            return ShownBoard(
                updates=shown.updates, unplaced=shown.unplaced, notes=(*shown.notes, *notes)
            )

    async def find_stacks(self, branch: str) -> tuple[StackedPull, ...]:
        async with self._open_api() as (api, rest):
            return await StackWriter(GithubStacks(api), rest.patience).find(branch)

    async def show_stack(self, board: StackBoard) -> ShownStack:
        async with self._open_api() as (api, rest):
            return await StackWriter(GithubStacks(api), rest.patience).show(board)

    async def conclude(self, pull: PullRequest, check: CheckResult) -> tuple[str, ...]:
        async with self._open_api() as (api, rest):
            return await CheckWriter(api, rest.patience).conclude(check)

    async def make_git_login(self) -> dict[str, str]:
        return await self._place.make_git_login(self._pacing)

    @asynccontextmanager
    async def _open_api(self) -> AsyncIterator[tuple[PullsApi, RestClient]]:
        async with self._place.connect(self._pacing) as (rest, repository):
            yield PullsApi(rest, repository), rest
