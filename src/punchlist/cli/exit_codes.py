"""The exit codes; exit_codes.toml says what each means."""

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
    UNAPPLIED = 8
    CRASHED = 70
    INTERRUPTED = 130
    UNREAD = 141
