"""What a refused request is told: what, where, and what to do next; one shape for all of them."""

from msgspec import Struct

from punchlist.errors import (
    AlreadyRunning,
    BudgetSpent,
    LedgerBroken,
    PunchlistError,
    RepositoryError,
    SettingsError,
    StoreAway,
    StoreError,
    ToolError,
    TooManyRuns,
    UsageError,
    WorkflowError,
)


class Problem(Struct, frozen=True, kw_only=True):
    """`run` and `session_id` (the same id) name the run that stands in the way, if one does."""

    status: int
    what: str
    where: str = ""
    next: str = ""
    run: str = ""
    session_id: str = ""


class Refused(Exception):
    """A request that is not done."""

    def __init__(
        self,
        status: int,
        what: str,
        next_: str = "",
        *,
        run: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(what)
        self.status = status
        self.next = next_
        self.run = run
        self.headers = headers or {}

    def to_problem(self, where: str) -> Problem:
        return Problem(
            status=self.status,
            what=str(self),
            where=where,
            next=self.next,
            run=self.run,
            session_id=self.run,
        )


LATER = 2
"""Seconds after which to try again when the database is away."""
STATUSES: dict[type[PunchlistError], int] = {
    UsageError: 400,
    WorkflowError: 400,
    RepositoryError: 409,
    SettingsError: 409,
    AlreadyRunning: 409,
    TooManyRuns: 429,
    BudgetSpent: 429,
    ToolError: 502,
    StoreError: 503,
    LedgerBroken: 500,
}


def retry_headers(error: PunchlistError) -> dict[str, str]:
    """Return the header that says when to try again what may succeed then."""
    seconds = {TooManyRuns: 30, StoreAway: LATER}.get(type(error))
    return {"retry-after": str(seconds)} if seconds else {}


def make_problem(error: PunchlistError, where: str) -> Problem:
    run = error.run if isinstance(error, AlreadyRunning) else ""
    if isinstance(error, StoreAway):  # its text names the database
        error = StoreAway("the server's database cannot be reached", hint=f"try again in {LATER} s")
    status = next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)
    return Problem(
        status=status, what=str(error), where=where, next=error.hint, run=run, session_id=run
    )
