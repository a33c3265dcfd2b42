"""Limits of what is read of a repository, a report or an agent's work: more is refused, by name."""

from contextvars import ContextVar

from msgspec import Struct

MEGABYTE = 1 << 20


class ReadingLimits(Struct, frozen=True, kw_only=True):
    """Sizes are in MB. No honest project meets these defaults."""

    files: int = 1_000_000
    depth: int = 200
    file_size: int = 64
    nesting: int = 100
    report_size: int = 64


_current: ContextVar[ReadingLimits | None] = ContextVar("reading_limits", default=None)
_DEFAULT = ReadingLimits()

LONGEST_PATH = 3000
"""Bytes of a path below the root: the system opens no file whose whole path has over 4,095."""


def reading_limits() -> ReadingLimits:
    """Return the limits of the user's settings, in the session that is open here."""
    return _current.get() or _DEFAULT


def use_reading_limits(limits: ReadingLimits) -> None:
    """Use these limits in this task, and in all that it starts."""
    _current.set(limits)


def is_too_deep(path: str) -> bool:
    """Return whether a path of a repository is deeper or longer than is looked at."""
    if len(path) < LONGEST_PATH // 4 and path.count("/") <= reading_limits().depth:
        return False
    return path.count("/") > reading_limits().depth or len(path.encode("utf-8", "replace")) > (
        LONGEST_PATH
    )
