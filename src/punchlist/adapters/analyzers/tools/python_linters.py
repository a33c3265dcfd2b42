"""Read what a project's settings for flake8, isort and pylint say that ruff can respect."""

from collections.abc import Iterator

from punchlist.adapters.analyzers.tools.python_project import has_tool_table
from punchlist.adapters.analyzers.tools.ruff_rules import SECURITY
from punchlist.model.finding.guarded_text import find_ini
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.ports.tree import Tree

_FLAKE8_FILES = (".flake8", "setup.cfg", "tox.ini")
_PYLINT_FILES = (".pylintrc", "pylintrc")
_SAME_CODES = tuple(
    """
    ASYNC100 ASYNC105 ASYNC210 ASYNC220 ASYNC221 ASYNC222 ASYNC230 ASYNC251
    B002 B003 B004 B005 B006 B007 B008 B009 B010 B011 B012 B013 B014 B015 B016 B017 B018 B019 B020
    B021 B022 B023 B024 B025 B026 B027 B028 B029 B030 B031 B032 B033 B034 B035 B039 B904 B905
    BLE001 C400 C401 C402 C403 C404 C405 C406 C408 C409 C410 C411 C413 C414 C415 C417 C418 C419
    DTZ002 DTZ003 DTZ004 E711 E712 E721 E722 EXE001 EXE002 EXE004 EXE005 F401 F402 F403 F404 F405
    F406 F407 F501 F502 F503 F504 F505 F506 F507 F508 F509 F521 F522 F523 F524 F525 F541 F601 F602
    F621 F622 F631 F632 F633 F634 F701 F702 F704 F706 F707 F722 F811 F821 F822 F823 F841 F842 F901
    FA100 FA102 FLY002 G010 G101 G201 G202 INT001 INT002 INT003 LOG001 LOG002 LOG009 N999 PERF101
    PERF102 PERF402 PIE790 PIE794 PIE796 PIE800 PIE804 PIE807 PIE808 PIE810 PT010 PT014 PT020 PT025
    PT026 RET501 S110 S112 SIM101 SIM102 SIM103 SIM107 SIM113
    SIM114 SIM115 SIM117 SIM118 SIM201 SIM202 SIM208 SIM210 SIM211 SIM220 SIM221 SIM222 SIM223
    SIM401 SIM911 T100 TRY002 TRY004 TRY201 TRY203 TRY401 W605 YTT101 YTT102 YTT103 YTT201 YTT202
    YTT203 YTT204 YTT301 YTT302 YTT303
    """.split()
)
"""Codes that mean the same to flake8, or its plug-ins, and ruff, among those that ruff is asked
for by default.
"""
_SEPARATORS = late_pattern(r"[,\s]+")
_COMMENT = late_pattern(r"\s*#.*")


def find_ignored(tree: Tree) -> list[str]:
    """Return ruff's rules that the project switched off for flake8; pylint's warnings if it has
    settings for pylint, and the order of imports if it has settings for isort.
    """
    flake8 = _read_flake8(tree)
    named = f"{flake8.get('ignore', '')} {flake8.get('extend-ignore', '')}"
    others = {"PLW": _uses_pylint(tree), "I001": _uses_isort(tree)}
    return [*_expand_codes(named), *(rule for rule, uses in others.items() if uses)]


def find_ignored_by_file(tree: Tree) -> Iterator[str]:
    """Yield PATTERN:CODE for each rule that the project switched off for flake8 in some files."""
    for line in _read_flake8(tree).get("per-file-ignores", "").splitlines():
        patterns, _, codes = line.partition(":")
        for pattern in filter(None, _SEPARATORS.split(patterns.strip())):
            yield from (f"{pattern}:{code}" for code in _expand_codes(codes))


def _expand_codes(text: str) -> list[str]:
    lines = (_COMMENT.sub("", line) for line in text.splitlines())
    named = tuple(filter(None, _SEPARATORS.split(" ".join(lines))))
    known = (*_SAME_CODES, *SECURITY)
    return [code for code in known if named and code.startswith(named)]


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
    named = has_tool_table(tree, "pyproject.toml", "pylint")
    return named or any(tree.text(path) is not None for path in _PYLINT_FILES)


def _uses_isort(tree: Tree) -> bool:
    if has_tool_table(tree, "pyproject.toml", "isort") or tree.text(".isort.cfg") is not None:
        return True
    sections = (("setup.cfg", "isort"), ("setup.cfg", "tool:isort"), ("tox.ini", "isort"))
    return any(find_ini(tree.text(path)).has_section(section) for path, section in sections)
