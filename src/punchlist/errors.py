"""The error tree: each error says what went wrong, where, and what to type next.

PunchlistError          the user can act on it; the CLI prints it without a traceback ├──
UsageError          the request itself is wrong ├── RepositoryError     git, or the repository,
is not in a state to work with ├── SettingsError       a settings file or value is wrong ├──
WorkflowError       a workflow file is wrong ├── StoreError          the ledger cannot be read or
written ├── LedgerBroken        the ledger is inconsistent ├── AlreadyRunning      the same
request, or the same run, is running in another process └── ToolError           an analyzer,
check or tracker failed
"""

import errno

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
"""A run that meets these stops, and goes on when there is room; an event about it would be all that
comes of the action.
"""


class PunchlistError(Exception):
    """A failure with a remedy; `hint` is what to type or do next."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(PunchlistError):
    """The request itself is wrong."""


class RepositoryError(PunchlistError):
    """Git, or the repository, is not in a state to work with."""


class SettingsError(PunchlistError):
    """A settings file or value is wrong."""


class WorkflowError(PunchlistError):
    """A workflow file is wrong; the message names file and path."""


class StoreError(PunchlistError):
    """The ledger cannot be read or written."""


class LedgerBroken(PunchlistError):
    """The ledger is inconsistent."""


class AlreadyRunning(PunchlistError):
    """The same request, or the same run, is running in another process."""

    def __init__(self, message: str, *, run: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.run = run


class ToolError(PunchlistError):
    """An analyzer, check or tracker failed."""
