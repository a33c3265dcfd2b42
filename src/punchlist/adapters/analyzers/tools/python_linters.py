"""What a project's settings for flake8 and pylint say that ruff can respect."""

from collections.abc import Iterator

from punchlist.model.finding.guarded_text import find_ini, find_toml
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.ports.tree import Tree

_FLAKE8_FILES = (".flake8", "setup.cfg", "tox.ini")
_PYLINT_FILES = (".pylintrc", "pylintrc")
_SAME_CODES = tuple(
    """
    B002 B003 B004 B005 B006 B007 B008 B009 B010 B011 B012 B013 B014 B015 B016 B017 B018 B019 B020
    B021 B022 B023 B024 B025 B026 B027 B028 B029 B030 B031 B032 B033 B034 B035 B904 B905 E711 E712
    E721 E722 W605 F401 F402 F403 F404 F405 F406 F407 F501 F502 F503 F504 F505 F506 F507 F508 F509
    F521 F522 F523 F524 F525 F541 F601 F602 F621 F622 F631 F632 F633 F634 F701 F702 F704 F706 F707
    F722 F811 F821 F822 F823 F841 F842 F901
    """.split()
)
"""Codes that mean the same to flake8 and ruff, among those that ruff is asked for by default."""
_SEPARATORS = late_pattern(r"[,\s]+")
_COMMENT = late_pattern(r"\s*#.*")


def find_ignored(tree: Tree) -> list[str]:
    """Return ruff's rules that the project switched off for flake8; pylint's warnings, if it has
    settings for pylint.
    """
    flake8 = _read_flake8(tree)
    named = f"{flake8.get('ignore', '')} {flake8.get('extend-ignore', '')}"
    return [*_expand_codes(named), *(["PLW"] if _uses_pylint(tree) else [])]


def find_ignored_by_file(tree: Tree) -> Iterator[str]:
    """Yield PATTERN:CODE for each rule that the project switched off for flake8 in some files."""
    for line in _read_flake8(tree).get("per-file-ignores", "").splitlines():
        patterns, _, codes = line.partition(":")
        for pattern in filter(None, _SEPARATORS.split(patterns.strip())):
            yield from (f"{pattern}:{code}" for code in _expand_codes(codes))


def _expand_codes(text: str) -> list[str]:
    lines = (_COMMENT.sub("", line) for line in text.splitlines())
    named = tuple(filter(None, _SEPARATORS.split(" ".join(lines))))
    return [code for code in _SAME_CODES if named and code.startswith(named)]


def _read_flake8(tree: Tree) -> dict[str, str]:
    """Return flake8's settings from the first file that has some, with dashes in the names."""
    for path in _FLAKE8_FILES:
        found = _read_section(tree.text(path) or "")
        if found:
            return found
    return {}


def _read_section(text: str) -> dict[str, str]:
    parser = find_ini(text)
    options = parser.items("flake8") if parser.has_section("flake8") else ()
    return {name.replace("_", "-"): value for name, value in options}


def _uses_pylint(tree: Tree) -> bool:
    tools = find_toml(tree.text("pyproject.toml")).get("tool")
    named = isinstance(tools, dict) and "pylint" in tools
    return named or any(tree.text(path) is not None for path in _PYLINT_FILES)
