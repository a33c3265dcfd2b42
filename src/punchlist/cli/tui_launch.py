"""A seat before the terminal view: whether there can be one, and what it looks at."""

from typing import TYPE_CHECKING

from punchlist.app import App
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


def seated(app: App) -> "Station":
    """At the ledger of the repository that the app stands in, or of all."""
    from punchlist.tui.backend import Station

    folder = here()
    repository = str(app.checkout.git_dir) if app.checkout else ""
    return Station(app.home, repository, lambda: App.open(folder, repository=None), login())
