"""Which of a project's own pytest arguments count: those that decide what is tested, and how."""

import posixpath
import re
from collections.abc import Sequence

from msgspec import Struct

from punchlist.adapters.checks.project_files.command_lines import Tool

SITE = "@site-packages@"
"""Stands for the folder that a package is installed into."""
_FLAGS = frozenset(
    """--doctest-modules --doctest-continue-on-failure --doctest-ignore-import-errors --pyargs
    --strict --strict-markers --strict-config --runxfail --noconftest --keep-duplicates""".split()
)
_WIDENS = ("--doctest-modules",)
"""Flags with which files count that are no tests; over the whole tree they may not even load."""
_VALUES = frozenset(
    """-W -o -c -p --pythonwarnings --override-ini --config-file --rootdir --confcutdir
    --import-mode --doctest-glob""".split()
)
_FILTERS = frozenset("-k -m --ignore --ignore-glob --deselect".split())
_SPEED = re.compile(
    """-[vqsxl]+|-r.*|-n.*|--(?:verbose|quiet|tb|color|durations.*|junit-?xml|maxfail|exitfirst|cov.*
    |no-cov.*|numprocesses|dist|capture|show.*|disable-warnings|no-header|no-summary|basetemp
    |cache-clear|lf|ff|sw|nf|html|self-contained-html|log.*|benchmark.*|timeout.*|reruns.*)""".replace(
        "\n    ", ""
    )
)
"""Options that change what is printed, how fast it is, or what is written beside the outcome."""


class Chosen(Struct, frozen=True):
    """The arguments of one command that count; `dropped` are those that may matter and do not."""

    options: tuple[tuple[str, ...], ...] = ()
    filters: tuple[tuple[str, ...], ...] = ()
    paths: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def choose_arguments(tool: Tool, files: Sequence[str], own_options: str) -> Chosen:
    """Choose from the words; `own_options` is the text of the files that may define options."""
    options: list[tuple[str, ...]] = []
    filters: list[tuple[str, ...]] = []
    paths: list[str] = []
    dropped: list[str] = []
    words = list(tool.arguments)
    while words:
        word = words.pop(0)
        name, equals, _ = word.partition("=")
        short = word[:2] if re.match(r"-[A-Za-z].", word) else ""
        known = _FILTERS | _VALUES
        if not word.startswith("-"):
            place = find_place(word, files)
            paths += [place] if place else []
            dropped += [] if place else [word]
        elif name in known or short in known:
            given = bool(equals or short) or not words
            option = (word,) if given else (word, words.pop(0))
            wanted = filters if name in _FILTERS or short in _FILTERS else options
            wanted += [option] if _is_usable(option, files) else []
        elif word in _FLAGS:
            options.append((word,))
        else:
            value = words.pop(0) if words and not equals and _is_value(words[0], files) else ""
            own = re.search(rf"[\"']{re.escape(name)}[\"']", own_options)
            options += [tuple(filter(None, (word, value)))] if own else []
            dropped += [] if own or _SPEED.fullmatch(name) else [word]
    return Chosen(tuple(options), tuple(filters), tuple(paths), tuple(dropped))


def find_place(word: str, files: Sequence[str]) -> str:
    """Return the path of a file or folder of the tree that an argument means, or ''."""
    path, mark, test = word.replace(f"{SITE}/", "").partition("::")
    plain = posixpath.normpath(path) if path else ""
    for place in (plain, f"src/{plain}", f"lib/{plain}"):
        if place == "." or any(file == place or file.startswith(f"{place}/") for file in files):
            return f"{place}{mark}{test}"
    return ""


def _is_value(word: str, files: Sequence[str]) -> bool:
    return not word.startswith("-") and not find_place(word, files)


def _is_usable(option: Sequence[str], files: Sequence[str]) -> bool:
    """Return whether an option's plugin or file is part of the tree."""
    if option[0] == "-p":
        module = option[-1].replace(".", "/")
        return option[-1].startswith("no:") or bool(find_place(f"{module}.py", files))
    return option[0] not in ("-c", "--config-file") or bool(find_place(option[-1], files))


def split_commands(chosen: Sequence[Chosen], tests: Sequence[str]) -> list[list[Chosen]]:
    """Return the commands in groups that can be merged; those with a flag that is meant for their
    own paths are alone where the others test the whole tree.
    """
    narrow = [each for each in chosen if each.paths and _WIDENS in each.options]
    if not narrow or _join_paths(chosen, tests):
        return [list(chosen)]
    plain = [each for each in chosen if each not in narrow]
    return [plain or [Chosen()], *([each] for each in narrow)]


def merge_arguments(chosen: Sequence[Chosen], tests: Sequence[str]) -> tuple[str, ...]:
    """Return arguments that test what the commands test together. What filters counts only if it
    is in all of them, and paths only if they hold most of the test files, or a flag is for them.
    """
    options = [option for each in chosen[:1] for option in each.options]
    more = [option for each in chosen[1:] for option in each.options if option[0] in _FLAGS]
    filters = [each for each in chosen[0].filters if all(each in other.filters for other in chosen)]
    narrow = len(chosen) == 1 and _WIDENS in chosen[0].options
    paths = chosen[0].paths if narrow else _join_paths(chosen, tests)
    words = [word for option in dict.fromkeys((*options, *more, *filters)) for word in option]
    return (*words, *dict.fromkeys(paths))


def _join_paths(chosen: Sequence[Chosen], tests: Sequence[str]) -> tuple[str, ...]:
    """Return the paths of the commands if they hold most of the test files; () for the tree."""
    paths = tuple(path for each in chosen for path in each.paths)
    whole = not all(each.paths for each in chosen) or "." in paths
    held = [test for test in tests if any(f"{test}/".startswith(f"{path}/") for path in paths)]
    return () if whole or len(held) * 2 < len(tests) else paths
