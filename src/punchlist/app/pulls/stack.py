"""Keep the one stacked pull request of a pull request: open, up to date, or closed."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from punchlist.adapters.forges.stack_branch import StackBranch
from punchlist.app.pulls.history import load_history
from punchlist.app.pulls.push import ChosenFixes
from punchlist.app.session import Session
from punchlist.errors import RepositoryError, ToolError, UsageError
from punchlist.model.item.item import Status
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.ports.forge.branch import FixBranch
from punchlist.ports.forge.forge import Forge, ShownStack
from punchlist.views.issue_text import inline_code
from punchlist.views.pulls.board import make_skipped_check
from punchlist.views.pulls.conversation import FixOffer, PullRequest
from punchlist.views.pulls.stack import (
    StackBoard,
    StackedPull,
    StackLink,
    end_stack,
    find_refused,
    is_marked,
    name_branch,
    parse_branch,
    read_tip,
)
from punchlist.views.pulls.stack_text import list_offered, make_stack

ChooseFixes = Callable[[frozenset[int], frozenset[int]], Awaitable[ChosenFixes]]
"""Makes the commits with the fixes of these items, without those of the others."""

_FORK = (
    "the fixes are not in a pull request of their own: the branch is in a fork, to which punchlist"
    " cannot open one; its author can commit the suggestions"
)
_NAMED = (
    "the fixes are not in a pull request of their own: punchlist's branch would be {}, which is the"
    " branch of this one"
)
_MOVED = "stale info"
"""How git says that a branch is not where it was seen."""
_RIGHT = "it needs the right to write (GitHub: contents: write, GitLab: Developer, Gitea: Write)"


class NothingToAnswer(UsageError):
    """The pull request is closed, or one of punchlist's own."""


class StackWish(Struct, frozen=True, kw_only=True):
    """`always`: the settings say so. `asked`: a person asks for it now, also for fixes of one that
    was closed.
    """

    always: bool = False
    asked: bool = False


class KeptStack(Struct, frozen=True, kw_only=True):
    """What became of it. `link` is there if it is open and holds fixes of the run."""

    link: StackLink | None = None
    tip: str = ""
    items: Mapping[int, str] = {}
    """By item: the commit with its fix."""
    updates: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    """In a dry run: what would be opened."""


class StackKeeper:
    """Nothing that goes wrong with `keep` fails the run: it is told in the notes. `tips`: the
    commits that the ledger knows to have been pushed.
    """

    def __init__(
        self,
        forge: Forge,
        branch: FixBranch,
        pull: PullRequest,
        tips: Collection[str],
        *,
        dry: bool = False,
    ) -> None:
        self._forge = forge
        self._branch = branch
        self._pull = pull
        self._tips = tips
        self._dry = dry
        self._name = name_branch(pull.number)

    async def keep(
        self, run: Run, keys: Mapping[int, str], choose: ChooseFixes, wish: StackWish
    ) -> KeptStack:
        """Make it hold all proven fixes of the run that people have not refused. Without a wish
        only one that is open is kept up to date.
        """
        try:
            stacks = await self._forge.find_stacks(self._name)
            if wish.always or wish.asked or any(each.open for each in stacks):
                return await self._keep(run, keys, choose, stacks, asked=wish.asked)
        except (ToolError, RepositoryError) as error:
            return KeptStack(notes=(f"the pull request with the fixes: {error}",))
        return KeptStack()

    async def end(self, why: str) -> KeptStack:
        """Close it, and delete its branch if that is ours. Raise ToolError or RepositoryError if
        the forge or its repository is away.
        """
        return await self._end(await self._forge.find_stacks(self._name), why, over=True)

    async def _keep(
        self,
        run: Run,
        keys: Mapping[int, str],
        choose: ChooseFixes,
        stacks: Sequence[StackedPull],
        *,
        asked: bool,
    ) -> KeptStack:
        proven = list_offered(run, keys, ())
        offered = list_offered(run, keys, () if asked else find_refused(stacks))
        if self._pull.fork or self._pull.head_name == self._name:
            why = _FORK if self._pull.fork else _NAMED.format(inline_code(self._name))
            return KeptStack(notes=(why,) if proven else ())
        chosen = await choose(offered, proven - offered) if offered else ChosenFixes()
        left = len(proven - offered)
        notes = (*chosen.notes, *([_tell_refused(left)] if left else []))
        if not chosen.tip:
            why = f"no proven fix is left that {inline_code(self._pull.head_name)} lacks"
            ended = await self._end(stacks, why)
            return KeptStack(updates=ended.updates, notes=(*notes, *ended.notes))
        items = chosen.items or _list_commits(run)
        board = make_stack(self._pull, run, sorted(items), keys, chosen.tip)
        if self._dry:
            would = f"{self._name} would be pushed, and a pull request from it to"
            told = f"{would} {self._pull.head_name} be kept open with {len(items)} fixes"
            return KeptStack(notes=(*notes, told), texts=(f"{board.title}\n\n{board.body}",))
        if why := await self._push(chosen.tip, self._list_tips(stacks)):
            return KeptStack(notes=(*notes, why))
        return await self._show(board, chosen.tip, items, notes)

    def _list_tips(self, stacks: Iterable[StackedPull]) -> frozenset[str]:
        """Return the commits that we are known to have pushed to the branch."""
        return frozenset({*self._tips, *(each.tip for each in stacks)} - {""})

    async def _push(self, tip: str, known: Collection[str]) -> str:
        """Move our branch to the fixes; return why that is not done, or ""."""
        now = await self._branch.read_tip()
        if now == tip:
            return ""
        if now and not await self._branch.is_ours(now, known):
            return self._tell_strange(now)
        why = await self._branch.push(tip, now)
        how = "it was moved meanwhile" if _MOVED in why else _RIGHT
        return f"the fixes could not be pushed to {self._name}; {how}: {why}" if why else ""

    def _tell_strange(self, tip: str) -> str:
        return (
            f"the branch {self._name} is at {tip[:10]}, a commit that punchlist did not make:"
            " it is left as it is; merge it, or delete it"
        )

    async def _show(
        self, board: StackBoard, tip: str, items: Mapping[int, str], notes: tuple[str, ...]
    ) -> KeptStack:
        shown = await self._forge.show_stack(board)
        link = None
        if shown.pull is not None:
            name = self._pull.markup.name_pull(shown.pull.number)
            link = StackLink(name=name, url=shown.pull.url, items=frozenset(items))
        return KeptStack(
            link=link, tip=tip, items=items, updates=shown.updates, notes=(*notes, *shown.notes)
        )

    async def _end(
        self, stacks: Sequence[StackedPull], why: str, *, over: bool = False
    ) -> KeptStack:
        """Close it; its branch goes with it, unless a person closed it and may open it again. With
        a commit of a person both stay.
        """
        newest = max(stacks, key=lambda each: each.number, default=None)
        opened = any(each.open for each in stacks)
        if newest is None or self._dry or (newest.refused and not opened and not over):
            return KeptStack()
        if self._pull.head_name == self._name:
            return KeptStack()
        shown, now = ShownStack(), await self._branch.read_tip()
        if now and not await self._branch.is_ours(now, self._list_tips(stacks)):
            return KeptStack(notes=(self._tell_strange(now),) if opened else ())
        if opened:
            shown = await self._forge.show_stack(end_stack(self._pull, why))
        deleted = now and not shown.notes and not await self._branch.delete(now)
        more = (f"delete {self._name}",) if deleted else ()
        return KeptStack(updates=(*shown.updates, *more), notes=shown.notes)


def _list_commits(run: Run) -> dict[int, str]:
    """Return by item the commit with its fix, of all that landed."""
    landed = {number for each in run.landing.landed for number in each.items}
    fixed = run.find_items(Status.FIXED)
    return {item.number: item.commit for item in fixed if item.number in landed}


def _tell_refused(count: int) -> str:
    fixes = pluralize(count, "proven fix is", "proven fixes are")
    return (
        f"{fixes} not offered in a pull request: a person closed the one that had them;"
        " `/punchlist stack` asks for it again"
    )


async def check_pull(session: Session, forge: Forge, pull: PullRequest, *, dry: bool) -> None:
    """Raise NothingToAnswer for a pull request that is closed, after what belongs to it, and for
    one of punchlist's own, which would be reviewed in a circle.
    """
    if not pull.open:
        notes = () if dry else await _end_stack(session, forge, pull)
        why = "; ".join((f"{pull.url} is closed", *notes))
        raise NothingToAnswer(why, hint="reopen it, or name another one")
    number = parse_branch(pull.head_name) if not pull.fork else None
    if number is not None and await _is_own(session, forge, pull, number):
        name = pull.markup.name_pull(number)
        why = f"it holds punchlist's own fixes for {name}, and is reviewed there"
        if not dry:
            await forge.conclude(pull, make_skipped_check(pull.head, why))
        raise NothingToAnswer(f"{pull.url} is not reviewed: {why}", hint=f"punchlist pr {number}")


async def _end_stack(session: Session, forge: Forge, pull: PullRequest) -> tuple[str, ...]:
    """Close the one of a pull request that is closed; return what to say."""
    history = load_history(session, pull.url)
    if not (history.stacks or session.settings().settings.pr.fixes is FixOffer.STACK):
        return ()
    git, login = session.required_checkout.user_git, await forge.make_git_login()
    keeper = StackKeeper(forge, StackBranch(git, pull, login), pull, history.tips)
    name = f"[{pull.markup.name_pull(pull.number)}]({pull.url})"
    return (await keeper.end(f"{name} is closed")).notes


async def _is_own(session: Session, forge: Forge, pull: PullRequest, number: int) -> bool:
    """Return whether a pull request holds nothing but fixes of ours, for the branch of another one
    that is open. With a commit of a person, or for another branch, it is reviewed as any other.
    """
    if not is_marked(pull.body, pull.head_name) or number == pull.number:
        return False
    # By its author: lists may not show it yet.
    if pull.author.removesuffix("[bot]") != await forge.read_viewer():
        return False
    try:
        first = await forge.change(number)
    except ToolError:
        return False
    if not first.open or first.fork or first.head_name != pull.base_name:
        return False
    git, login = session.required_checkout.user_git, await forge.make_git_login()
    known = {*load_history(session, first.url).tips, read_tip(pull.body)} - {""}
    return await StackBranch(git, first, login).is_ours(pull.head, known)
