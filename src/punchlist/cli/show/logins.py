"""Ask whether agents may have their logins, once for each kind of agent."""

from collections.abc import Sequence

from punchlist.app.agents.logins import FoundLogin, LoginAnswers
from punchlist.app.session import Session
from punchlist.cli.show.question import ask_choice
from punchlist.cli.show.words import one_line
from punchlist.cli.terminal import note


def ask_logins(session: Session, logins: Sequence[FoundLogin], *, ask: bool) -> bool:
    """Ask the user and remember the answers; return whether any login is allowed now. Where the
    user cannot be asked, say how to allow it.
    """
    answers = LoginAnswers(session.home)
    for login in {each.kind: each for each in logins}.values():
        note(
            f"Agent {one_line(login.agent)} has no key in your environment; its program is logged"
            f" in by {one_line(login.shown)}."
        )
        if not ask:
            note("  It does not get that login. hint: --set agents.logins=true, or answer once on")
            note("  a terminal; agents.logins = true in your settings allows it for good")
            continue
        question = "Give it a copy in a home of its own, in this run and later? [y]es, [n]o"
        answers.save(login.kind, allowed=ask_choice(question, ["y", "n"]) == "y")
    return ask
