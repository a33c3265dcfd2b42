"""What a short command did, in a line or a document."""

from punchlist.cli.exits import Exit
from punchlist.cli.terminal import answer, say
from punchlist.cli.words import safe


def done(*lines: str, json: bool) -> Exit:
    if json:
        answer({"done": lines})
    else:
        say(*map(safe, lines))
    return Exit.FINE
