"""The command line: it parses, calls app, and shows; a command's module is imported only when the command is named."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from punchlist.cli.door import through
from punchlist.cli.root import root

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The `punchlist` command; its exit codes are those of `Exit`."""
    chosen = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(through(lambda: root.main(chosen, prog_name="punchlist", standalone_mode=False), chosen))
