"""Show on a pull request what a job without secrets left; nothing of the fork is checked out."""

from pathlib import Path

from punchlist.app.ci.event import CiEvent
from punchlist.app.ci.reports import read_result
from punchlist.app.pulls.connect import PullName, open_forge
from punchlist.app.session import Session
from punchlist.ports.forge.forge import ShownBoard
from punchlist.views.pulls.reported import RESULT_LIMIT, make_reported_board, parse_result


async def relay_result(session: Session, event: CiEvent, path: Path) -> ShownBoard:
    """Show the result. Which pull request it is, and which commit, is the event's and the forge's
    word. Raise UsageError if the file is no result.
    """
    result = parse_result(read_result(path, RESULT_LIMIT), str(path))
    git = session.required_checkout.user_git
    name = PullName(kind=event.place, repository=event.repository)
    forge = await open_forge(session.settings().settings, git, name)
    number = await forge.find_pull(event.head_name)
    pull = await forge.change(number) if number is not None else None
    if pull is None or not pull.open:
        return ShownBoard(notes=(f"{event.head_name} has no open pull request; nothing is shown",))
    if pull.head != event.head or result.head != event.head:
        why = "the result is about another commit than the pull request's; nothing is shown"
        return ShownBoard(notes=(why,))
    return await forge.show(pull, make_reported_board(result, pull))
