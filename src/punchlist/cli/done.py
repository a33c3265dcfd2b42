"""What a short command did, in a line or a document."""

from punchlist.cli.exit_codes import Exit
from punchlist.cli.show.words import safe
from punchlist.cli.terminal import answer, say


def done(*lines: str, json: bool) -> Exit:
    if json:
        answer({"done": lines})
    else:
        say(*map(safe, lines))
    return Exit.FINE
