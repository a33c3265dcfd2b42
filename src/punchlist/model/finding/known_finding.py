"""A finding as the baseline of a repository has it."""

from msgspec import Struct


class KnownFinding(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One line of a baseline. No line number is part of it, so it survives moved lines."""

    path: str
    rule: str
    """The tool and its rule: `ruff:F401`."""
    symbol: str = ""
    code: str = ""
    """The code that it covers, without white space, for people to read; long code is cut."""
    id: str
    """Hash of path, symbol, covered code and rule."""
    before: str
    after: str
    """Hashes of rule, covered code, and the code before or after it."""
    copy: int = 1
    """Counts findings with the same id; the same number twice, after a merge, counts once."""

    @property
    def tool(self) -> str:
        return self.rule.partition(":")[0]
