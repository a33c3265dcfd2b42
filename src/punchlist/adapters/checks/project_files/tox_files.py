"""Commands in tox.ini, tox.toml, setup.cfg and pyproject.toml for tox."""

import configparser
import re
from collections.abc import Iterator, Sequence
from typing import Any

from punchlist.adapters.checks.project_files.command_lines import UNKNOWN, Line, join_lines
from punchlist.adapters.checks.project_files.pytest_arguments import SITE
from punchlist.model.finding.guarded_text import find_ini, find_toml
from punchlist.ports.tree import Tree

_BRACES = re.compile(r"\{([^{}]*)\}")
_SECTION = re.compile(r"\[([^\]]+)\](\w+)")
_FACTORS = re.compile(r"^[\w.,!*-]+:\s+")
_VALUES = {
    **dict.fromkeys(("toxinidir", "tox_root", "package_root", "changedir"), "."),
    "posargs": "",
    "envpython": "python",
    "envbindir": "bin",
    "envsitepackagesdir": SITE,
    "env_site_packages_dir": SITE,
    "/": "/",
    ":": ":",
}
_TURNS = 8
_LONGEST = 20_000


def read_tox(tree: Tree) -> Iterator[Line]:
    """Yield the commands of all environments, the base environment first."""
    project = find_toml(tree.text("pyproject.toml"))
    tool = find_table(project, "tool", "tox")
    legacy = tool.get("legacy_tox_ini")
    for name, text in (
        ("tox.ini", tree.text("tox.ini")),
        ("setup.cfg", tree.text("setup.cfg")),
        ("pyproject.toml", legacy if isinstance(legacy, str) else None),
    ):
        yield from _read_ini(name, text, tree.files())
    yield from _read_tables("tox.toml", find_toml(tree.text("tox.toml")))
    yield from _read_tables("pyproject.toml", tool)


def _read_ini(name: str, text: str | None, files: Sequence[str]) -> Iterator[Line]:
    parser = find_ini(text)
    sections = [each for each in parser.sections() if each.split(":")[0] == "testenv"]
    for section in sorted(sections, key=lambda each: each != "testenv"):
        folder = _fill(parser.get(section, "changedir", fallback=""), parser).strip("./")
        inside = folder and any(file.startswith(f"{folder}/") for file in files)
        why = f"it is run in the folder {folder}" if inside else ""
        commands = _fill(parser.get(section, "commands", fallback=""), parser)
        for line in join_lines(commands):
            yield Line(_FACTORS.sub("", line), f"{name} [{section}]", why=why)


def _fill(text: str, parser: configparser.RawConfigParser) -> str:
    """Return the text with tox's own values in place of names in braces."""

    def find(match: re.Match[str]) -> str:
        name, _, default = match[1].partition(":")
        other = _SECTION.fullmatch(match[1])
        if other:
            value = parser.get(other[1], other[2], fallback=UNKNOWN)
            return value if len(value) < _LONGEST else UNKNOWN
        if name == "env":
            return default.partition(":")[2] if ":" in default else UNKNOWN
        return default if name == "posargs" else _VALUES.get(match[1], UNKNOWN)

    for _ in range(_TURNS):
        filled = _BRACES.sub(find, text)
        if filled == text:
            return text
        text = filled if len(filled) < _LONGEST else UNKNOWN
    return UNKNOWN


def _read_tables(name: str, table: dict[str, Any]) -> Iterator[Line]:
    base = find_table(table, "env_run_base")
    named = {"env_run_base": base}
    named |= {f"env.{each}": find_table(table, "env", each) for each in find_table(table, "env")}
    for place, each in named.items():
        for command in as_list(each.get("commands")):
            words = [word for part in as_list(command) for word in _read_word(part)]
            yield Line(" ".join(map(_quote, words)), f"{name} [{place}]")


def _read_word(part: object) -> list[str]:
    if isinstance(part, str):
        return [_fill(part, find_ini(None))]
    if isinstance(part, dict) and part.get("replace") == "posargs":
        return [word for each in as_list(part.get("default")) for word in _read_word(each)]
    return [UNKNOWN]


def _quote(word: str) -> str:
    return "'" + word.replace("'", "'\"'\"'") + "'"


def find_table(table: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the table at a path of names; {} if there is none."""
    for name in names:
        found = table.get(name)
        table = found if isinstance(found, dict) else {}
    return table


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
