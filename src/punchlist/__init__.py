"""Punchlist sees every review finding through to an end."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from punchlist._version import __version__

if TYPE_CHECKING:
    from punchlist.library import (
        Finding,
        FindingGroup,
        FindingTracker,
        FixEngine,
        FixOpts,
        FixReport,
        IssueRegistry,
        ReviewFinding,
        ReviewFixResult,
        ReviewResult,
        VerificationRunner,
        review_and_fix,
    )

__all__ = [
    "Finding",
    "FindingGroup",
    "FindingTracker",
    "FixEngine",
    "FixOpts",
    "FixReport",
    "IssueRegistry",
    "ReviewFinding",
    "ReviewFixResult",
    "ReviewResult",
    "VerificationRunner",
    "__version__",
    "review_and_fix",
]


def __getattr__(name: str) -> Any:
    """The library is imported when it is first asked for: the command line does not need it, and
    starts without.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("punchlist.library"), name)
