"""Command lines in a project's files, as words; what only a shell could understand is not run."""

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.hook_files import HookFiles

UNKNOWN = "\x01"
"""Stands in a line for a value that punchlist does not know."""
_PYTHON = re.compile(r"(?:python|pypy|py)[\d.]*")
_VARIABLE = re.compile(r"\w+=")
_MARKS = ";&|<>()"
_RUNNERS = ("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "pipx")
_PREFIXES = ("npx", "bunx", "uvx", "time", "exec", "xvfb-run")
_TAKE_VALUE = (
    "--with --python -p --group --extra --package --only-group --no-group -e --env".split()
)
_PYTHON_TAKES = ("-W", "-X")
_COVERAGE_TAKES = "--rcfile --source --omit --include --context --data-file --concurrency".split()


class Line(Struct, frozen=True):
    """A line of a project's file. `for_shell`: the tool that reads the file gives it to a shell."""

    text: str
    origin: str
    for_shell: bool = False
    why: str = ""
    """Why it cannot be run in the project's root folder, if that is known."""
    given: HookFiles | None = None
    """The files that a hook gets after its arguments."""


class Tool(Struct, frozen=True):
    """A tool with its arguments; `python` has what stands between the interpreter and -m."""

    name: str
    arguments: tuple[str, ...]
    origin: str
    python: tuple[str, ...] = ()
    given: HookFiles | None = None

    @property
    def text(self) -> str:
        return shlex.join((self.name, *self.arguments))


class Unread(Struct, frozen=True):
    """A command that was not understood."""

    text: str
    origin: str
    why: str


def join_lines(text: str) -> Iterator[str]:
    """Yield the lines of a script; those that end with a backslash go on."""
    whole = re.sub(r"\\\r?\n\s*", " ", text)
    yield from (line.strip() for line in whole.splitlines() if line.strip())


def parse_line(line: Line) -> Iterator[Tool | Unread]:
    """Yield the tools that a line starts one after the other."""
    lexer = shlex.shlex(line.text, posix=True, punctuation_chars=_MARKS)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError as error:
        yield Unread(line.text, line.origin, str(error).lower())
        return
    for part in _split_words(words):
        why = line.why or _find_shell(part, for_shell=line.for_shell)
        tool = None if why else strip_wrappers(part, line.origin)
        if tool is not None:
            yield replace(tool, given=line.given)
        elif part:
            yield Unread(" ".join(part), line.origin, why or "it is not a tool's command")


def _split_words(words: Iterable[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word in ("&&", ";"):
            yield part
            part = []
        else:
            part.append(word)
    yield part


def _find_shell(words: Sequence[str], *, for_shell: bool) -> str:
    """Return why only a shell, or the tool that reads the file, could run these words, or ''."""
    if any(word.strip(_MARKS) == "" for word in words):
        return "it needs a shell"
    if any(UNKNOWN in word for word in words):
        return "it has a value that punchlist does not know"
    if for_shell and any(set("$`*?") & set(word) for word in words):
        return "it needs a shell"
    if words and _VARIABLE.match(words[0]):
        return "it sets variables"
    return ""


def strip_wrappers(words: Sequence[str], origin: str) -> Tool | None:
    """Return the tool that a command comes to, without interpreters and environments; None if its
    exit code does not count, or if there is none.
    """
    python: tuple[str, ...] = ()
    rest = list(words)
    while rest:
        name = posixpath.basename(rest[0].lstrip("@"))
        if name in ("-", "!") or name.startswith("-"):
            return None
        if _PYTHON.fullmatch(name):
            before, rest = _split_module(rest[1:], _PYTHON_TAKES)
            python = (*python, *before)
        elif name == "coverage" and rest[1:2] == ["run"]:
            _, rest = _split_module(rest[2:], _COVERAGE_TAKES)
        elif name in _RUNNERS and rest[1:2] == ["run"]:
            rest = _skip_options(rest[2:])
        elif name in _PREFIXES:
            rest = _skip_options(rest[1:])
        else:
            name = "pytest" if name == "py.test" else name
            return Tool(name, tuple(rest[1:]), origin, python)
    return None


def _split_module(words: list[str], take_value: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the options before -m, and the module with its arguments; no module: []."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        at += 2 if words[at] in take_value else 1
    return words[:at], words[at + 1 :] if words[at : at + 1] == ["-m"] else []


def _skip_options(words: list[str]) -> list[str]:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _TAKE_VALUE else 1
    return words[at:]
