"""Open a page in the user's browser, where there is one."""

import os
import sys

from punchlist.adapters.process.programs import list_outer_folders
from punchlist.adapters.process.run import named_environment

_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def open_browser(address: str) -> bool:
    """Open the address, and return whether a browser took it. On a server without a screen none is
    started: it would be one that takes over the terminal.
    """
    if sys.platform not in ("darwin", "win32") and not named_environment(_SCREENS):
        return False
    import webbrowser

    path = os.environ.get("PATH")
    os.environ["PATH"] = list_outer_folders()  # `webbrowser` looks there, and a repository may lie
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False
    finally:
        if path is None:
            del os.environ["PATH"]
        else:
            os.environ["PATH"] = path
