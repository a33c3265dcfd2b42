"""The commits that an event names, in the clone of the job."""

from punchlist.adapters.forges.pull_commits import fetch_commits, has_commit
from punchlist.app.ci.event import CiEvent, EventKind
from punchlist.app.session import Session
from punchlist.app.start.request import Request
from punchlist.errors import RepositoryError
from punchlist.model.patch.change import ScopeKind

_DEPTH = "let the job fetch the whole history (fetch-depth: 0, or GIT_DEPTH: 0)"


async def choose_scope(session: Session, event: CiEvent) -> Request:
    """Return a request to review what the event is about, with the analyzers alone unless settings
    name agents. From now on the session is about the event's head, not about what is checked out.
    Raise RepositoryError if its commits cannot be had.
    """
    base = await _find_base(session, event)
    checkout = session.required_checkout
    await _fetch_head(session, event, [name for name in (base, event.head) if name])
    session.checkout = checkout.move_head(event.head)
    return Request(
        kind=ScopeKind.BRANCH, committed=True, base=base, workflow="review", allow_checks=False
    )


async def _find_base(session: Session, event: CiEvent) -> str:
    """Return what the head is compared with: of a push to a branch that is new, or was rewritten,
    the default branch.
    """
    git = session.required_checkout.user_git
    if event.kind is not EventKind.PUSH:
        return event.base
    known = event.base and await has_commit(git, event.base)
    if known and not await git.is_ancestor(event.head, event.base):
        return event.base
    main = f"refs/remotes/origin/{event.base_name}"
    other = event.base_name and event.base_name != event.head_name
    names = (*((main,) if other else ()), f"{event.head}^")
    found = [await git.find_line("rev-parse", "--verify", "--quiet", name) for name in names]
    return next(filter(None, found), "")


async def _fetch_head(session: Session, event: CiEvent, commits: list[str]) -> None:
    git = session.required_checkout.user_git
    below = f"refs/punchlist/ci/{event.number}"
    refs = [f"+{event.ref}:{below}/head"] if event.kind is EventKind.PULL else []
    refs += [f"+refs/heads/{event.base_name}:{below}/base"] if event.base_name else []
    try:
        await fetch_commits(git, f"the event {event.name}", commits, refs)
    except RepositoryError as error:
        raise RepositoryError(str(error), hint=_DEPTH) from error
