"""What an App must be allowed for what punchlist does, in GitHub's words."""

from collections.abc import Mapping

from msgspec import Struct

_LEVELS = ("read", "write", "admin")


class AppPermission(Struct, frozen=True):
    """`title` is its name on GitHub's pages; `use`: what is lost without it."""

    name: str
    level: str
    title: str
    use: str

    def grant(self, granted: Mapping[str, str]) -> str:
        """Return the level to ask for: no more than is needed, and no more than is granted."""
        have = granted.get(self.name, "")
        return min(have, self.level, key=_LEVELS.index) if have in _LEVELS else ""


_METADATA = AppPermission("metadata", "read", "Metadata", "see the repository")
_ISSUES = AppPermission("issues", "write", "Issues", "post the summary, file issues")
FILING = (_METADATA, _ISSUES)
ANSWERING = (
    _METADATA,
    AppPermission("pull_requests", "write", "Pull requests", "comment on pull requests"),
    _ISSUES,
    AppPermission("checks", "write", "Checks", "show the check, read those of others"),
    AppPermission("contents", "write", "Contents", "resolve threads, fetch and push commits"),
    AppPermission("security_events", "read", "Code scanning alerts", "read alerts"),
)


def choose_permissions(
    needed: tuple[AppPermission, ...], granted: Mapping[str, str]
) -> dict[str, str]:
    """Return what to ask for: GitHub refuses a token that asks for what is not granted."""
    asked = ((each.name, each.grant(granted)) for each in needed)
    return {name: level for name, level in asked if level}


def find_missing_permissions(granted: Mapping[str, str]) -> list[AppPermission]:
    """Return what is needed to answer pull requests, and not granted."""
    return [each for each in ANSWERING if each.grant(granted) != each.level]
