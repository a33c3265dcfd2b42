"""Bring proven fixes to a pull request: push them, or keep another pull request with them."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.forges.pull_commits import push_fixes
from punchlist.adapters.forges.stack_branch import StackBranch
from punchlist.app.after.dismissals import load_dismissals
from punchlist.app.pulls.history import PullHistory, follow_keys
from punchlist.app.pulls.orders import find_ordered, select_orders, show_dismissed
from punchlist.app.pulls.picture import PullScene, is_landed
from punchlist.app.pulls.push import ChosenFixes, choose_fixes
from punchlist.app.pulls.stack import KeptStack, StackKeeper, StackWish
from punchlist.model.ledger.run import Run
from punchlist.ports.forge.forge import Forge
from punchlist.views.pulls.conversation import FixOffer
from punchlist.views.pulls.orders import OrderVerb
from punchlist.views.pulls.stack_text import list_offered

_FORK = "the fixes were not pushed: the branch is in a fork, whose author can apply the suggestions"


class AskedFixes(Struct, frozen=True, kw_only=True):
    """What the user asks for: to push fixes, or to open a pull request with them. `dry`: do
    nothing, and say what would be done.
    """

    push: bool = False
    stack: bool = False
    dry: bool = False


NO_FIXES = AskedFixes()


async def push_asked(
    scene: PullScene, forge: Forge, run: Run, history: PullHistory, user: AskedFixes
) -> ChosenFixes:
    """Push proven fixes if a person asks for them, or the settings say so for the author; return
    what was pushed, and what to say.
    """
    session, pull = scene.session, scene.pull
    orders = select_orders(scene.judged, OrderVerb.APPLY)
    tip, workshop = run.landing.published, await session.workshop(fresh=False)
    every = user.push or _is_among(pull.author, scene.settings.push_for)
    if not (every or orders) or not tip or await is_landed(pull, run, workshop):
        return ChosenFixes()
    if pull.fork and not pull.push_to:
        return ChosenFixes(notes=(_FORK,))
    every = every or any(not order.thread for order in orders)
    asked = None if every else find_ordered(scene.conversation, history, orders)
    known = load_dismissals(session.store, session.key)
    name = f"refs/punchlist/pull/{pull.number}/fixes"
    chosen = await choose_fixes(show_dismissed(run, known, landed=False), workshop, asked, name)
    if user.dry or not chosen.tip:
        would = f"{chosen.tip[:10]} would be pushed to {pull.head_name}"
        return ChosenFixes(notes=(*chosen.notes, *([would] if chosen.tip else [])))
    git, login = session.required_checkout.user_git, await forge.make_git_login()
    if why := await push_fixes(git, pull, chosen.tip, login):
        return ChosenFixes(notes=(*chosen.notes, f"the fixes could not be pushed: {why}"))
    return chosen


def _is_among(author: str, names: Iterable[str]) -> bool:
    """Return whether the author is one of these. A person may have the name of a bot without its
    `[bot]`.
    """
    return author.casefold() in {name.casefold() for name in names}


class FixStacks:
    """The pull request with the fixes of a pull request that is answered."""

    def __init__(self, scene: PullScene, forge: Forge, user: AskedFixes) -> None:
        self._scene = scene
        self._forge = forge
        self._user = user

    async def keep(self, run: Run, history: PullHistory, pushed: ChosenFixes) -> KeptStack:
        """Keep it, if there is one or one is wished for. After a push of some fixes the next run
        does that, unless none is left.
        """
        session, pull = self._scene.session, self._scene.pull
        always = self._scene.settings.fixes is FixOffer.STACK or history.wants_stack
        orders = select_orders(self._scene.judged, OrderVerb.STACK)
        wish = StackWish(always=always, asked=self._user.stack or bool(orders))
        if not (wish.always or wish.asked or history.stacks):
            return KeptStack()
        workshop = await session.workshop(fresh=False)
        landed = await is_landed(pull, run, workshop)
        known = load_dismissals(session.store, session.key)
        shown = show_dismissed(run, known, landed=landed)

        async def choose(items: frozenset[int], refused: frozenset[int]) -> ChosenFixes:
            name = f"refs/punchlist/pull/{pull.number}/stacked"
            return await choose_fixes(shown, workshop, items, name, refused)

        login = await self._forge.make_git_login()
        branch = StackBranch(session.required_checkout.user_git, pull, login)
        keeper = StackKeeper(self._forge, branch, pull, history.tips, dry=self._user.dry)
        there = shown.items if landed else pushed.items
        held = replace(shown, items={n: each for n, each in shown.items.items() if n not in there})
        keys = follow_keys(history.runs)[run.id]
        if pushed.items and list_offered(held, keys, ()):
            return KeptStack()
        return await keeper.keep(held, keys, choose, wish)
