"""A seat before the terminal view: whether there can be one, and what it looks at."""

from typing import TYPE_CHECKING

from punchlist.app import Session
from punchlist.cli.session import here, login
from punchlist.cli.terminal import err, interactive
from punchlist.errors import SettingsError, UsageError

if TYPE_CHECKING:
    from punchlist.tui.backend import Station


def can_watch() -> None:
    """Raises what is missing: a terminal, or the packages."""
    if not interactive() or err().is_dumb_terminal:
        raise UsageError(
            "the terminal view needs a terminal",
            hint="punchlist status, or punchlist run without --watch",
        )
    try:
        import textual  # noqa: F401 - whether it is there
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"{error.name} is not installed", hint='pip install "punchlist[tui]"'
        ) from error


def seated(session: Session) -> "Station":
    """At the ledger of the repository that the session stands in, or of all."""
    from punchlist.tui.backend import Station

    folder = here()
    repository = str(session.checkout.git_dir) if session.checkout else ""
    return Station(session.home, repository, lambda: Session.open(folder, repository=None), login())
