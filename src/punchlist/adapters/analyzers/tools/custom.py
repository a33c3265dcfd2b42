"""Analyzers defined in the user's settings: a command, and a known report format."""

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.analyzers.configuration.any_tool import SHARED, follow_text, follow_words
from punchlist.adapters.analyzers.configuration.node_packages import find_reviewed_packages
from punchlist.adapters.analyzers.formats import lines, rdjson, sarif
from punchlist.adapters.analyzers.tool import AnalyzerTool, Kit
from punchlist.adapters.analyzers.tools import (
    ast_grep,
    bandit,
    biome,
    eslint,
    mypy,
    pyright,
    ruff,
    semgrep,
    shellcheck,
    ty,
)
from punchlist.adapters.process.run import ProcessResult
from punchlist.errors import SettingsError
from punchlist.intake.source_files import Sources
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.severity import parse_severity
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

if TYPE_CHECKING:
    from punchlist.adapters.analyzers.configuration.survey import Survey

FORMATS: dict[str, Callable[[bytes, Sources, str], Analysis]] = {
    "lines": lines.parse,
    "sarif": sarif.parse,
    "rdjson": rdjson.parse,
    "rdjsonl": rdjson.parse_lines,
    "gitlab": ty.parse,
    "ruff": ruff.parse,
    "bandit": bandit.parse,
    "mypy": mypy.parse,
    "pyright": pyright.parse,
    "eslint": eslint.parse,
    "biome": biome.parse,
    "shellcheck": shellcheck.parse,
    "semgrep": semgrep.parse,
    "ast-grep": ast_grep.parse,
}
FILES = "{files}"
_INTERPRETERS = frozenset(
    ("", "sh", "bash", "python", "python3", "node", "npx", "uv", "uvx", "pipx", "env", "make")
)
_NODE = frozenset(("node", "npx", "npm", "pnpm", "yarn", "bun", "bunx", "deno"))
_OPTION = late_pattern(
    r"-[\w-]+[= ](?:\./)?(?P<file>[\w./-]+\.(?:jsonc?|toml|ya?ml|cfg|ini|conf|xml|rc|properties))"
)
"""An option with a configuration file."""
_USUAL = (
    *(".{}" + end for end in ("", ".*", "rc", "rc.*", "ignore")),
    *("{}" + end for end in ("rc", ".config.*", ".toml", ".yaml", ".yml", ".json", ".jsonc")),
    *("{}" + end for end in (".cfg", ".ini", ".conf")),
    ".config/{}*",
)
"""What a tool's own configuration file is usually called."""


class CustomTool(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A tool of the user's. `{files}` in the command is replaced by the files; without it the tool
    finds them itself.
    """

    name: str
    command: tuple[str, ...]
    format: str = "lines"
    files: tuple[str, ...] = ()
    """Patterns of the files it looks at; none means all that it is given. Without them and without
    `{files}`, it counts as having looked only at files that it reports on.
    """
    severity: str = ""
    """The weight of everything it finds, instead of what it says itself."""
    exits: tuple[int, ...] = (0, 1)
    """The exit codes with which its report is whole."""
    steered_by: tuple[str, ...] = ()
    """Patterns of its configuration files, besides those that are named after it: a change under
    review does not steer it.
    """
    suppressed_by: tuple[str, ...] = ()
    """Regular expressions of the comments that silence it: a fix must not add any."""
    unsuppressed: tuple[str, ...] = ()
    """Arguments with which it reports also what comments silence. Without these and without
    `suppressed_by`, its silence about an agent's fix is no proof.
    """

    loads_code: bool = True
    """Whether its configuration can make it load code. If so, and the repository configures it, it
    runs only once that is allowed, as checks are.
    """

    @property
    def steering(self) -> tuple[str, ...]:
        """`steered_by`, files that options of the command name, and those named after the tool."""
        usual = (pattern.format(name) for name in self.names for pattern in _USUAL)
        words = (*self.command, *map(" ".join, pairwise(self.command)))
        options = filter(None, map(_OPTION.fullmatch, words))
        named = (f"/{option['file']}" for option in options if option["file"][0] != "/")
        return tuple(dict.fromkeys((*self.steered_by, *named, *usual, *SHARED)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which the tool is known."""
        names = {self.name, *self.command[:1], *_find_modules(self.command)}
        known = {PurePosixPath(name).name for name in names}
        return tuple(sorted(known - _INTERPRETERS))


class Custom(AnalyzerTool):
    uses_path = True

    def __init__(self, settings: CustomTool) -> None:
        _check_settings(settings)
        super().__init__()
        self._settings = settings
        self.name = settings.name
        self.suffixes = ("",)
        self.steered_by = settings.steering
        self.suppressed_by = settings.suppressed_by
        self.unsuppressed = settings.unsuppressed
        self.exits = frozenset(settings.exits)
        self.whole = FILES not in settings.command
        self.reach_known = bool(settings.files) or not self.whole
        if _runs_script(settings.command):  # it may import what lies beside it
            self.env = MappingProxyType({"PYTHONSAFEPATH": ""})

    def find_obstacle(self, tree: Tree, kit: Kit) -> str:
        known = kit.configurations.get(self.name)
        if not (known and known.code) and self._settings.command[0] not in _NODE:
            return ""
        loaded = (*self.steered_by, *(known.named if known else ()))
        return find_reviewed_packages(tree, kit.checkout, loaded)

    async def follow_command(self, survey: "Survey") -> list[str]:
        await follow_words(self._settings.command, survey)
        return []

    async def follow_file(self, path: str, text: str, survey: "Survey") -> list[str]:
        own = self._settings
        return await follow_text(path, text, survey, own.names, code=own.loads_code)

    def find_program(self, kit: Kit) -> tuple[str, ...]:
        command = self._settings.command
        if "/" in command[0]:
            return command
        program = kit.find_program(command[0])
        return (*program, *command[1:]) if program else ()

    def find_exclusion(self, tree: Tree) -> str:
        return "its own command or settings"

    def wants_file(self, path: str, tree: Tree) -> bool:
        patterns = self._settings.files
        return not patterns or any(fnmatchcase(path, pattern) for pattern in patterns)

    def build_command(self, program: Sequence[str], tree: Tree, kit: Kit) -> tuple[str, ...]:
        at = program.index(FILES) if FILES in program else len(program)
        more = (each for each in self.args if each not in program)
        return (*program[:at], *more, *program[at:])

    def add_files(self, head: Sequence[str], files: Sequence[str]) -> list[str]:
        return [part for word in head for part in (files if word == FILES else (word,))]

    def parse_output(self, ran: ProcessResult, sources: Sources) -> Analysis:
        analysis = FORMATS[self._settings.format](ran.stdout, sources, self.name)
        if not analysis.findings and ran.exit_code and not analysis.failed:
            failed = f"{self.name}: exit code {ran.exit_code}, and nothing in its report to read"
            return replace(analysis, failed=failed)
        if not self._settings.severity:
            return analysis
        severity, _ = parse_severity(self._settings.severity)
        findings = tuple(replace(finding, severity=severity) for finding in analysis.findings)
        return replace(analysis, findings=findings)


def _runs_script(command: Sequence[str]) -> bool:
    """Return whether a Python program is started by its path."""
    python = PurePosixPath(command[0]).name.startswith("python")
    script = next((word for word in command[1:] if not word.startswith("-")), "")
    return python and "/" in script and not {"-m", "-c"} & {*command[1:]}


def _find_modules(command: Sequence[str]) -> tuple[str, ...]:
    """Return what an interpreter is told to run: the word after `-m`, `npx` and the like."""
    return tuple(
        word
        for before, word in pairwise(command)
        if before == "-m" or (before in _INTERPRETERS and not word.startswith("-"))
    )


def _check_settings(settings: CustomTool) -> None:
    for problem, hint in _find_problems(settings):
        raise SettingsError(f"analyzers.custom.{settings.name}: {problem}", hint=hint)


def _find_problems(settings: CustomTool) -> Iterator[tuple[str, str]]:
    """Yield what is wrong, and a hint."""
    if not settings.command:
        yield "the command is empty", "give it as a list of words, the program first"
    program = settings.command[0]
    if "/" in program and not program.startswith("/"):
        # It would be looked for in the tree, and code under review is not run.
        problem = f"{program!r} would run a program of the code under review"
        yield problem, "give an absolute path or a program on PATH"
    if settings.format not in FORMATS:
        yield f"no format is called {settings.format!r}", f"one of {', '.join(FORMATS)}"
    for pattern in settings.suppressed_by:
        try:
            re.compile(f"(?:{pattern})")
        except re.error as error:
            problem = f"suppressed_by: {pattern!r} is no regular expression: {error}"
            yield problem, r"such as '#\s*quiet'"
    if settings.severity and not parse_severity(settings.severity)[1]:
        yield f"no severity is called {settings.severity!r}", "one of critical, major, minor"
