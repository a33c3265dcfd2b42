"""The exit codes and their meanings."""

from enum import IntEnum


class Exit(IntEnum):
    FINE = 0
    LEFT = 1
    USAGE = 2
    INCOMPLETE = 3
    WAITING = 4
    RUNNING = 5
    SETUP = 6
    LEDGER = 7
    CRASHED = 70
    INTERRUPTED = 130
    UNREAD = 141


MEANINGS: dict[Exit, str] = {
    Exit.FINE: (
        "Fine: nothing was found, everything found was fixed or dismissed, or the command did what"
        " it says."
    ),
    Exit.LEFT: "Findings are left: filed, listed or blocked.",
    Exit.USAGE: (
        "The command line is wrong: an unknown option, a run that does not exist, a file that is"
        " not there."
    ),
    Exit.INCOMPLETE: (
        "Incomplete: a reviewer failed, a limit was reached, or something could not be done or"
        " filed."
    ),
    Exit.WAITING: "The run waits for an answer: `punchlist answer`.",
    Exit.RUNNING: "The same run, or the same request, is under way in another process.",
    Exit.SETUP: (
        "The repository, the settings or a workflow file is not in a state to work with, or a"
        " needed tool is missing."
    ),
    Exit.LEDGER: "The ledger cannot be read or written, or does not add up.",
    Exit.CRASHED: "A fault in punchlist itself; the message names the crash log.",
    Exit.INTERRUPTED: "Stopped by Ctrl-C or a signal; `punchlist resume` goes on.",
    Exit.UNREAD: (
        "The output could not be written: its reader went away (a closed pipe), or the disk is"
        " full."
    ),
}
