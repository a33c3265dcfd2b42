"""The command line: parse, call app, show. A command's module is imported when it is named."""

import gc
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from punchlist.cli.errors import run_command
from punchlist.cli.exit_codes import Exit
from punchlist.cli.root import root

__all__ = ["main"]

_COLLECTED_FROM = 100_000
"""New objects after which garbage is collected. With Python's own 700, a tenth of the time of a
short command goes into looking through what was just imported.
"""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the `punchlist` command and exit with a code of `Exit`."""
    chosen = list(sys.argv[1:] if arguments is None else arguments)
    gc.set_threshold(_COLLECTED_FROM)
    try:
        code = run_command(
            lambda: root.main(chosen, prog_name="punchlist", standalone_mode=False), chosen
        )
    except KeyboardInterrupt:  # a second one, while the first was being reported
        sys.stderr.write("\nstopped at once; `punchlist resume` goes on, if a run had begun\n")
        code = Exit.INTERRUPTED
    if code is Exit.INTERRUPTED:  # one more Ctrl-C must not turn the exit code into a signal
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()  # else the interpreter looks through all objects twice more before it exits
    sys.exit(code)
