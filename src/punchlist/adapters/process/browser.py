"""Open a page in the user's browser, where there is one."""

import sys
from pathlib import Path

from punchlist.adapters.process.run import named_environment

_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def open_browser(page: Path) -> bool:
    """Open the file, and return whether a browser took it. On a server without a screen none is
    started: it would be one that takes over the terminal.
    """
    if sys.platform not in ("darwin", "win32") and not named_environment(_SCREENS):
        return False
    import webbrowser

    try:
        return webbrowser.open(page.as_uri())
    except webbrowser.Error:
        return False
