"""Open the terminal view."""

from typing import TYPE_CHECKING

from punchlist.app.session import Session
from punchlist.cli.session import current_folder, login_name
from punchlist.cli.terminal import is_dumb, is_interactive
from punchlist.errors import SettingsError, UsageError
from punchlist.installed import extra_hint

if TYPE_CHECKING:
    from punchlist.tui.backend import Backend


def check_terminal() -> None:
    """Raise if a terminal or the packages are missing."""
    if not is_interactive() or is_dumb():
        raise UsageError(
            "the terminal view needs a terminal", hint="`punchlist status`, or leave out --follow"
        )
    try:
        import textual  # noqa: F401 - whether it is there
    except ModuleNotFoundError as error:
        hint = extra_hint("tui")
        raise SettingsError(f"{error.name} is not installed", hint=hint) from error


def open_backend(session: Session) -> "Backend":
    """Return the backend of the terminal view: for the session's repository, or for all."""
    from punchlist.tui.backend import Backend

    folder = current_folder()
    return Backend(
        session.home, session.key, lambda: Session.open(folder, repository=None), login_name()
    )
