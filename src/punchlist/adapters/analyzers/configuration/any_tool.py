"""What the command and the configuration of a user's own tool load, told by their words."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from posixpath import basename, dirname, normpath
from typing import TYPE_CHECKING

import msgspec

from punchlist.adapters.analyzers.configuration.imports import ROOTS, find_module
from punchlist.adapters.analyzers.configuration.parse import (
    UnusableConfigurationError,
    parse_configuration,
)
from punchlist.adapters.folders.look import is_file
from punchlist.model.finding.late_pattern import late_pattern

if TYPE_CHECKING:
    from punchlist.adapters.analyzers.configuration.survey import Survey

_WORD = late_pattern(r"(?<![\w./@~$-])[\w.@~$][\w./@~$+-]*|(?<![\w./@~$:-])/[\w./+-]+")
_DATA = late_pattern(r".*\.(?:jsonc?|json5|toml|ya?ml|cfg|ini|conf|xml|rc|properties|grit)")
_SCRIPT = late_pattern(r".*\.(?:py|[cm]?[jt]sx?|sh|bash|rb|pl|lua|php|so|wasm)")
_LOADING = late_pattern(
    r"plugin|load|extend|require|import|hook|preset|inherit|custom|parser|processor|rules?.?dir|local",
    re.IGNORECASE,
)
_RUNNERS = frozenset(
    "make just task npm pnpm yarn bun tox nox uv poetry pdm hatch cargo go gradle gradlew mvn"
    " bundle rake composer pre-commit bazel dotnet sbt mix npx bunx".split()
)
"""Programs that run what files of the repository say."""
_SHELLS = frozenset("sh bash dash zsh ksh fish env".split())
_STARTING = late_pattern(
    r"exec|eval|compile|runpy|run_path|subprocess|system|popen|spawn|import_module|__import__"
    r"|spec_from|require|load|source",
    re.IGNORECASE,
)
"""How a program's text runs a file that it names."""
SHARED = ("/pyproject.toml", "/setup.cfg", "/tox.ini", "/package.json")
"""Configuration files of many tools, each of which has a table of its own."""
_SYSTEM = ("/usr/", "/bin/", "/lib", "/opt/", "/nix/", "/dev/")


async def follow_words(command: Sequence[str], survey: "Survey") -> None:
    """Note the scripts of the repository that a command runs."""
    name = basename(command[0])
    if name in _RUNNERS:
        survey.add_code(f"`{' '.join(command[:3])}`", "", command)
    parts = [part for part in command[1:] if name in _SHELLS or not _is_own_program(part)]
    for word in (each for part in parts for each in _WORD.findall(part)):
        path = normpath(word)
        if not (_SCRIPT.fullmatch(path) or word.startswith("./") or path in survey.files.modes):
            continue
        if path.startswith(("/", "..", "~")) or _DATA.fullmatch(path):
            continue
        survey.named.append(f"/{path}")
        if dirname(path):
            survey.named.append(f"/{dirname(path)}/**")
        if path in survey.files.modes:
            survey.add_code(f"`{name} {word}`", path, await survey.files.read(path))
            (survey.modules if path.endswith(".py") else survey.scripts).append(path)


def _is_own_program(part: str) -> bool:
    """Return whether an argument is a program's text that the user wrote, and that only reads the
    files which it names.
    """
    return "(" in part and not _STARTING.search(part)


async def follow_text(
    path: str, text: str, survey: "Survey", names: Sequence[str], *, code: bool
) -> list[str]:
    """Note the files that a configuration file names, and that it may load code; return the
    configuration files among them.
    """
    if f"/{path}" in SHARED:
        text = _find_tables(path, text, names)
    if not text.strip():
        return []
    if basename(path).endswith("ignore"):
        return []
    if code:
        survey.add_code(f"{path}, which may name plug-ins,", path, text)
    found, folders = [], list[str]()
    for word, loading in _list_words(text):
        place = await _locate_word(path, word, survey)
        if _DATA.fullmatch(place):
            survey.named.append(f"/{place}")
            found += [place] if place in survey.files.modes else []
        elif code and loading and _SCRIPT.fullmatch(place):
            (survey.modules if place.endswith(".py") else survey.scripts).append(place)
        elif code and loading and _is_folder(place, survey):
            folders.append(place)
            survey.named.append(f"/{place}/**")
        elif code and loading:
            roots = (*ROOTS, *folders, dirname(path))
            survey.modules += (
                each for root in roots for each in find_module(root, word, survey.files.modes)
            )
    return found


def _is_folder(place: str, survey: "Survey") -> bool:
    """Return whether it is a folder of the repository, and not one of its sources."""
    inside = (path.startswith(f"{place}/") for path in survey.files.modes)
    return place not in ROOTS and any(inside)


def _find_tables(path: str, text: str, names: Sequence[str]) -> str:
    """Return what a file of several tools says to one: its tables, with `key = value` lines."""
    try:
        data = parse_configuration(path, text)
    except UnusableConfigurationError:
        return text if any(name in text for name in names) else ""
    tables = data.get("tool", {}) if path.endswith(".toml") else data
    own = {key: value for key, value in tables.items() if _is_about(key, names)}
    return "\n".join(
        f"{key} = {msgspec.json.encode(own[key], enc_hook=str).decode()}" for key in own
    )


def _is_about(key: str, names: Sequence[str]) -> bool:
    words = re.split(r"\W+", key.replace("_", "-").casefold().removesuffix("config"))
    return any({*name.replace("_", "-").casefold().split("-")} <= {*words} for name in names)


def _list_words(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each word, and whether it stands below or beside a key that loads something."""
    loading: int | None = None
    section = False
    for line in text.splitlines():
        bare = line.lstrip()
        if bare.startswith("["):
            section = bool(_LOADING.search(bare))
        depth = len(line) - len(bare)
        goes_on = loading is not None and (depth > loading or bare[:1] in "-]})\"'")
        if _LOADING.search(line):
            loading = depth if not goes_on else loading
        elif bare and not goes_on:
            loading = None
        yield from (
            (word.rstrip("."), section or loading is not None) for word in _WORD.findall(line)
        )


async def _locate_word(path: str, word: str, survey: "Survey") -> str:
    """Return the place of a word in the repository; raise UnusableConfigurationError if it is
    a file elsewhere.
    """
    away = word.startswith(("~", "$")) and (_DATA.fullmatch(word) or _SCRIPT.fullmatch(word))
    rooted = word.startswith("/") and not word.startswith(_SYSTEM) and is_file(Path(word))
    if away or rooted:
        raise UnusableConfigurationError(f"{path}: {word} leads out of the repository")
    near = normpath(f"{dirname(path)}/{word}".lstrip("/"))
    if near.startswith("..") and (_DATA.fullmatch(near) or _SCRIPT.fullmatch(near)):
        raise UnusableConfigurationError(f"{path}: {word} leads out of the repository")
    at_root = normpath(word.lstrip("/"))
    return near if near in survey.files.modes or at_root not in survey.files.modes else at_root
