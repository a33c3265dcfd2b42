"""Errors that the user can act on; the CLI prints them, with their hint, without a traceback."""

import errno

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
"""A run that meets these stops and can be resumed when there is room; no event records them."""


class PunchlistError(Exception):
    """A failure with a remedy; `hint` is what to type or do next."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(PunchlistError):
    """The request itself is wrong."""


class RepositoryError(PunchlistError):
    """Git, or the repository, is not in a state to work with."""


class FolderTooLarge(RepositoryError):
    """A folder has more files, or is deeper, than is read."""


class SettingsError(PunchlistError):
    """A settings file or value is wrong."""


class WorkflowError(PunchlistError):
    """A workflow file is wrong; the message names file and path."""


class StoreError(PunchlistError):
    """The ledger cannot be read or written."""


class StoreAway(StoreError):
    """The database or object store cannot be reached at the moment; the same may be tried again."""


class DiskFull(StoreError):
    """This machine has no room; the run can go on when there is some, or on another machine."""


class RunTaken(StoreError):
    """Another process drives the run now: this one may not add to it any more."""


class LedgerBroken(PunchlistError):
    """The ledger is inconsistent."""


class AlreadyRunning(PunchlistError):
    """The same request, or the same run, is running in another process."""

    def __init__(self, message: str, *, run: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.run = run


class TooManyRuns(PunchlistError):
    """As many runs as may be are under way."""


class BudgetSpent(PunchlistError):
    """The dollars of the day are spent."""


class ToolError(PunchlistError):
    """An analyzer, check or tracker failed."""
