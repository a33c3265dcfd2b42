"""Find untracked files that checks need: environments, installed modules, build products."""

from fnmatch import fnmatch
from pathlib import Path

from punchlist.adapters.git.command import Git

ENVIRONMENTS = (".venv", "venv", "node_modules")
_LIMIT = 500
_UNWANTED = (
    "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".cache", ".git",
    ".idea", ".vscode", ".DS_Store",
    ".coverage*", "htmlcov", "coverage.xml", "*.pyc", "*.pyo", "*.log", "*.swp", "*.tmp", "*~",
    ".punchlist*",
    ".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "credentials*", "secrets*",
)  # fmt: skip
"""Caches could answer for code that is gone; keys and tokens are kept from checks."""


async def find_untracked(checkout: Path) -> tuple[str, ...]:
    """Return ignored paths of the checkout that a check may need, folders first."""
    flags = ("--ignored", "--exclude-standard", "--directory", "--no-empty-directory", "-z")
    listed = await Git(checkout, theirs=True).run("ls-files", "--others", *flags)
    names = listed.stdout.decode(errors="surrogateescape").split("\0") if listed.ok else []
    ignored = {name.rstrip("/") for name in names if name}
    ignored |= {name for name in ENVIRONMENTS if (checkout / name).is_dir()}
    wanted = [name for name in ignored if not any(is_unwanted(part) for part in name.split("/"))]
    return tuple(sorted(wanted, key=lambda name: (not (checkout / name).is_dir(), name))[:_LIMIT])


def is_unwanted(part: str) -> bool:
    return any(fnmatch(part, pattern) for pattern in _UNWANTED)
