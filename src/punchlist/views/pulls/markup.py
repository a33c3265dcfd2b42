"""How a forge spells addresses and suggestions, and what it acts on in a comment."""

import re

from msgspec import Struct

_COMMAND = re.compile(r"^(?=[^\S\n]*\\?/\w)", re.MULTILINE)
_GAP = "\u200b"


class Markup(Struct, frozen=True, kw_only=True):
    """The default is GitHub's."""

    pull: str = "/pull/{number}"
    sign: str = "#"
    """What stands before the number of a pull request."""
    commit: str = "/commit/{commit}"
    file: str = "/blob/{commit}/{path}"
    lines: str = "#L{first}-L{last}"
    suggestion: str = "suggestion"
    """The first line of a block that can be committed; `above` is how many lines above the
    thread's it replaces. Empty: the forge has none.
    """
    files: bool = True
    """There are comments on whole files."""
    commands: bool = False
    """Lines that begin with a slash are orders to the forge, carried out with our token."""

    def name_pull(self, number: int) -> str:
        return f"{self.sign}{number}"

    def finish(self, body: str) -> str:
        """Return a comment in which the forge sees no order to itself: not in a code block either,
        since forges do not agree with Markdown on where these end.
        """
        return _COMMAND.sub(_GAP, body) if self.commands else body

    def takes_suggestion(self, text: str) -> bool:
        """Return whether lines can be suggested as they are."""
        return bool(self.suggestion) and self.finish(text) == text


GITHUB = Markup()
GITLAB = Markup(
    pull="/-/merge_requests/{number}",
    sign="!",
    commit="/-/commit/{commit}",
    file="/-/blob/{commit}/{path}",
    lines="#L{first}-{last}",
    suggestion="suggestion:-{above}+0",
    commands=True,
)
GITEA = Markup(
    pull="/pulls/{number}", file="/src/commit/{commit}/{path}", suggestion="", files=False
)
