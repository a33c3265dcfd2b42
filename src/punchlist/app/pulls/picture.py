"""Gather all that the board of a pull request is made of."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.forges.pull_commits import (
    FixFinder,
    has_same_tree,
    read_fixes,
    read_pull_diff,
)
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.after.dismissals import load_dismissals
from punchlist.app.drive.budget import NO_AGENTS
from punchlist.app.pulls.history import (
    PullHistory,
    find_ended,
    find_gone,
    find_settled,
    follow_keys,
)
from punchlist.app.pulls.orders import JudgedOrder, select_orders, show_dismissed
from punchlist.app.pulls.push import ChosenFixes
from punchlist.app.session import Session
from punchlist.model.item.item import Status
from punchlist.model.ledger.run import Run
from punchlist.settings import PullSettings
from punchlist.views.pulls.board import Picture, Settled, own_threads
from punchlist.views.pulls.conversation import Conversation, PullRequest
from punchlist.views.pulls.diff_table import parse_table
from punchlist.views.pulls.orders import OrderVerb
from punchlist.views.pulls.stack import StackLink
from punchlist.views.pulls.suggestion import Suggestion, make_suggestion


class PullScene(Struct, frozen=True, kw_only=True):
    """A pull request while it is answered, and what is said on it."""

    session: Session
    pull: PullRequest
    conversation: Conversation
    judged: tuple[JudgedOrder, ...]
    settings: PullSettings


async def is_landed(pull: PullRequest, run: Run, workshop: Workshop) -> bool:
    """Return whether the head has the run's fixes: their commits, or, after a merge that makes one
    commit of them, the very code that they led to.
    """
    tip, git = run.landing.published, workshop.git
    if not tip or pull.head == run.started.change.head:
        return False
    return await git.is_ancestor(tip, pull.head) or await has_same_tree(git, tip, pull.head)


async def settle_threads(
    scene: PullScene, history: PullHistory, workshop: Workshop
) -> dict[str, Settled]:
    """Return by thread of others what ended it."""
    finder = FixFinder(workshop, scene.pull.base, scene.pull.head)
    fresh = {each.order.id: each.event for each in scene.judged}
    return await find_settled(replace(history, orders={**history.orders, **fresh}), finder)


async def make_picture(
    scene: PullScene,
    run: Run,
    history: PullHistory,
    pushed: ChosenFixes,
    stack: StackLink | None = None,
) -> Picture:
    session, pull = scene.session, scene.pull
    workshop = await session.workshop(fresh=False)
    keys = follow_keys(history.runs)
    earlier = [each for each in history.runs if each.id != run.id]
    landed = await is_landed(pull, run, workshop)
    known = load_dismissals(session.store, session.key)
    past = replace(history, runs=tuple(earlier))
    ours = [key for key, _ in own_threads(scene.conversation)]
    finder = FixFinder(workshop, pull.base, pull.head)
    return Picture(
        pull=pull,
        run=_name_pushed(show_dismissed(run, known, landed=landed), pushed.items),
        table=parse_table(await read_pull_diff(workshop, pull.base, pull.head)),
        conversation=scene.conversation,
        landed=landed,
        applied=frozenset(pushed.items),
        suggestions={} if landed else await _make_suggestions(pull, run, workshop),
        keys=keys[run.id],
        settled=await settle_threads(scene, past, workshop),
        gone=find_gone(earlier, run),
        ended=await find_ended(past, run, ours, finder),
        closed=history.closed,
        stack=stack,
        explain=select_orders(scene.judged, OrderVerb.EXPLAIN),
        resolve=scene.settings.resolve,
        # Lines of the head are other ones now: the next run begins new threads.
        limit=0 if pushed.items else scene.settings.comments,
        notes=(*pushed.notes, *_list_limits(run)),
    )


async def _make_suggestions(
    pull: PullRequest, run: Run, workshop: Workshop
) -> dict[int, Suggestion]:
    fixed = run.find_items(Status.FIXED)
    files = await read_fixes(workshop, (item.made_in for item in fixed), pull.head)
    made = {commit: make_suggestion(file) for commit, file in files.items()}
    takes = pull.markup.takes_suggestion
    return {
        item.number: found
        for item in fixed
        if (found := made.get(item.made_in)) is not None and takes(found.text)
    }


def _list_limits(run: Run) -> list[str]:
    """Return which budgets kept agents from being asked."""
    notes = [each for each in run.started.change.notes if each.startswith(NO_AGENTS)]
    return [*notes, *([f"Stopped: {run.halted}"] if run.halted else [])]


def _name_pushed(run: Run, commits: Mapping[int, str]) -> Run:
    """Return the run with the commits that were pushed in place of those on its branch."""
    named = {n: replace(run.items[n], commit=commit) for n, commit in commits.items()}
    return replace(run, items={**run.items, **named})
