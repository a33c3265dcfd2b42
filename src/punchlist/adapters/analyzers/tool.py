"""Run a command-line analyzer over a tree: choose and split files, sandbox, detect failure."""

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.adapters.analyzers.configuration.declared import ConfigurationKeys
from punchlist.adapters.analyzers.configuration.imports import ROOTS
from punchlist.adapters.analyzers.configuration.parse import UnusableConfigurationError
from punchlist.adapters.analyzers.entries import ReportParser, join_analyses
from punchlist.adapters.analyzers.identity import identify_readers
from punchlist.adapters.analyzers.looked import account_files
from punchlist.adapters.folders.look import is_file, is_folder, path_exists, resolve_path
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.process.programs import is_foreign
from punchlist.adapters.process.run import Origin, ProcessResult, base_environment, run, which
from punchlist.adapters.sandbox.git_view import show_repository
from punchlist.adapters.sandbox.home_view import is_private, list_secrets
from punchlist.adapters.sandbox.installations import (
    drop_inner,
    find_installations,
    find_own_installation,
    find_path_installations,
)
from punchlist.adapters.sandbox.profiles import PROFILES, ChildKind
from punchlist.adapters.sandbox.sandbox import HOME, Sandbox, SandboxWishes
from punchlist.adapters.sandbox.secret_files import find_secret_files
from punchlist.adapters.sandbox.support import probe_support, sandbox_kind
from punchlist.intake.source_files import Sources
from punchlist.model.checks.tool_configuration import ToolConfiguration
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Tree

if TYPE_CHECKING:
    from punchlist.adapters.analyzers.configuration.survey import Survey

ARGV_LIMIT = 100_000
WORTH_A_PROCESS = 20
MOST_CALLS = 40
"""Calls that are split in two, in one analysis, to find the files that make a tool crash."""
LOCAL = (".venv/bin", "venv/bin", "node_modules/.bin")
OWN_FOLDERS = (".venv", "venv", "node_modules")
SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
"""Suffixes of JavaScript and TypeScript files."""

CODE = "code"
"""The folder of the base's plug-ins, in the folder of a tool's own configuration."""

_QUOTAS = PROFILES[ChildKind.ANALYZER].quotas
_PROBE_SECONDS = 30.0


def offline_sandbox(tree: Tree, needs: Sequence[Path], kit: "Kit") -> Sandbox:
    """Return a sandbox for an analyzer: tree and program readable, nothing writable, no network."""
    view = show_repository(tree.root)
    shown = (*needs, *(path for path in kit.wishes.read if path_exists(path)), tree.root)
    return Sandbox(
        kind=ChildKind.ANALYZER,
        binds=(*((path, path, False) for path in shown), *view.binds),
        files=view.files,
        hidden=(
            *list_secrets(Path.home()),
            *kit.private,
            *find_secret_files(tree.root, tree.files()),
        ),
        required=kit.wishes.required,
        consented=kit.wishes.unfenced,
    )


class Kit(Struct, frozen=True, kw_only=True):
    """What every analyzer runs with; `checkout` has the user's own tool folders."""

    checkout: Path | None = None
    wishes: SandboxWishes = field(default_factory=SandboxWishes)
    private: tuple[Path, ...] = ()
    """Folders that analyzers do not see, such as punchlist's state."""
    timeout: float = _QUOTAS.seconds
    width: int = os.cpu_count() or 1
    """How many processes one analyzer may use; others run beside it."""
    find: Callable[[str], str | None] = which
    tracked: frozenset[str] = frozenset()
    """Folders of the checkout with programs that are part of the repository."""
    configurations: Mapping[str, ToolConfiguration] = {}
    """By analyzer: what its configuration names and loads, and whether that is allowed."""
    read_base: Callable[[str], Awaitable[bytes | None]] | None = None
    """Reads a file of the base."""

    def find_program(self, name: str) -> tuple[str, ...]:
        """Return a tool's command: the project's own, else ours; () if there is none."""
        places = self._in_checkout(LOCAL, name) if self._may_run_theirs() else ()
        local = next((path for path in places if is_file(path)), None)
        return (str(local),) if local else self.find_bundled(name)

    def find_origin(self, program: str) -> Origin:
        """Return whose program it is: the repository's if it lies in the checkout."""
        own = self.checkout is not None and Path(program).is_relative_to(self.checkout)
        return Origin.THEIRS if own or is_foreign(program) else Origin.USERS

    def _may_run_theirs(self) -> bool:
        """Return whether programs of the checkout can be run: there are walls, or consent."""
        return self.wishes.unfenced or sandbox_kind() != "none"

    def inside_checkout(self, name: str) -> str:
        """Return the path in the repository of a file that settings name, '' if it is outside."""
        if self.checkout is None:
            return ""
        root = Path(os.path.normpath(self.checkout))
        place = Path(os.path.normpath(root / name))
        return place.relative_to(root).as_posix() if place.is_relative_to(root) else ""

    def find_bundled(self, name: str) -> tuple[str, ...]:
        """Return a tool's command beside our interpreter, else on PATH, else ()."""
        beside = Path(sys.executable).parent / name
        found = str(beside) if is_file(beside) else self.find(name)
        return (found,) if found else ()

    def is_tracked(self, program: str, tree: Tree | None = None) -> bool:
        """Return whether a program is part of the repository, as it is or behind links: code under
        review is not run.
        """
        if self.checkout is None:
            return False
        place, root = Path(os.path.normpath(program)), Path(os.path.normpath(self.checkout))
        places = ((place, root), (resolve_path(Path(program)), resolve_path(self.checkout)))
        inner = [path.relative_to(top) for path, top in places if path.is_relative_to(top)]
        folders = {name for path in inner for name in path.parts[:1]}
        carried = tree is not None and any(os.path.lexists(tree.root / name) for name in folders)
        return carried or not folders.isdisjoint(self.tracked)

    def find_python(self, tree: Tree) -> str:
        """Return the Python of the project's own environment, or '' if there is none to trust."""
        for path in self._in_checkout(LOCAL[:2], "python"):
            if path_exists(path) and not self.is_tracked(str(path), tree):
                return str(path)
        return ""

    def find_needs(self, command: Sequence[str], *, all_programs: bool = False) -> tuple[Path, ...]:
        """Return what a command needs to see besides the tree: its programs, our own, and the
        environments of the checkout with their interpreters; all of PATH if `all_programs`.
        """
        path, private = base_environment()["PATH"], (Path.home(), *self.private)
        own = [
            folder
            for folder in self._in_checkout(OWN_FOLDERS)
            if is_folder(folder) and not is_private(folder, Path.home())
        ]
        pythons = (str(folder / "bin/python") for folder in own)
        found = [*own, *(resolve_path(folder) for folder in own)]
        for program in pythons:
            found += find_installations((program,), path, private)
        found += find_installations(command, path, private)
        found += find_path_installations(path, private) if all_programs else ()
        return drop_inner((*found, *find_own_installation(path, private)))

    def _in_checkout(self, folders: Sequence[str], name: str = "") -> list[Path]:
        return [self.checkout / folder / name for folder in folders] if self.checkout else []


class AnalyzerTool:
    """One analyzer's specifics; the defaults fit a tool that takes files and exits 0 or 1."""

    name = ""
    suffixes: tuple[str, ...]
    """Ends of the names of files in its languages; an empty one fits every file."""
    steered_by: tuple[str, ...]
    """Patterns of its configuration files: the base's are used, and fixers may not edit them."""
    suppressed_by: tuple[str, ...]
    """Regular expressions of the comments that silence it."""
    unsuppressed: tuple[str, ...] = ()
    """Arguments with which it reports also what comments silence; () if it knows none."""
    exits = frozenset({0, 1})
    """With these codes the report is whole; any other is a failure."""
    whole = False
    """It is given no files but checks the project; findings in other files are dropped."""
    reach_known = True
    """Whether it is known which files it looks at, also where it reports nothing."""
    slow = False
    """It takes long on one core, so its files are shared out among several processes."""
    borrows: tuple[str, ...] = ()
    """Folders of the user's checkout that its settings load code from."""
    env: Mapping[str, str] = MappingProxyType({})
    """Variables that it is given."""
    uses_path = False
    """It may start any program on PATH."""
    inputs: tuple[Path, ...] = ()
    """Files of the user's that it reads besides the tree."""
    rule_files: tuple[str, ...] = ()
    """Files and folders of the repository with its rules, as settings name them."""
    options: tuple[str, ...] = ()
    """Arguments that it is always given."""
    install = "install it"
    """What to do where it is missed."""
    parser: ReportParser
    """Parses what it prints, as a `staticmethod`."""
    log: re.Pattern[str] | None = None
    """How lines of stderr begin in which it says what it does; these are no error message."""
    loads_apart = False
    """Whether it can load Python plug-ins from a folder of their own, rather than from the tree."""
    configuration = ConfigurationKeys()
    """What its configuration can make it read and run."""

    def __init__(self, args: Sequence[str] = (), *, asked: bool = False) -> None:
        """`asked`: enabled by name, so it runs even in a project that does not configure it."""
        self.args = tuple(args)
        self.asked = asked

    def without_suppressions(self) -> "AnalyzerTool":
        """Return the same tool, run with the arguments that switch its suppressions off."""
        bare = copy(self)
        bare.args = (*self.args, *(each for each in self.unsuppressed if each not in self.args))
        return bare

    def find_program(self, kit: Kit) -> tuple[str, ...]:
        return kit.find_program(self.name)

    def wants_file(self, path: str, tree: Tree) -> bool:
        return path.endswith(self.suffixes)

    def sees_file(self, path: str, tree: Tree) -> bool:
        """Return whether it looks at a file of this language; by default if it wants the file."""
        return self.wants_file(path, tree)

    def find_exclusion(self, tree: Tree) -> str:
        """Return where the project's own settings keep the tool from files that it is given, or
        ''; asked where its report lacks some.
        """
        return ""

    def group_files(
        self, files: Sequence[str], tree: Tree
    ) -> Sequence[tuple[tuple[str, ...], Sequence[str]]]:
        """Return the files with the arguments for each group of them: those without which the
        tool's own default excludes would apply to files that it is given.
        """
        return [((), files)]

    def list_hidden(self, files: Sequence[str], tree: Tree) -> Sequence[str]:
        """Return those of the files that a tool which finds its files by itself never finds, by
        its own default excludes; it is given these by name.
        """
        return ()

    def name_files(self, head: Sequence[str]) -> Sequence[str]:
        """Return the command line of a tool that finds its files by itself, up to files that it is
        given by name.
        """
        return head

    def identify_program(self, program: Sequence[str]) -> str:
        """Return what changes whenever the program does; '' if that is not known. Only for a tool
        that reads nothing but its program and the tree.
        """
        return ""

    def skip_reason(self, tree: Tree) -> str:
        """Return why the tool has nothing to do in this project, or ''."""
        return ""

    def project_options(self, tree: Tree, kit: Kit) -> tuple[str, ...]:
        """Return the arguments that depend on the project or on settings."""
        return ()

    def find_obstacle(self, tree: Tree, kit: Kit) -> str:
        """Return why the tool would load code under review, or ''."""
        return ""

    def write_configuration(self, tree: Tree, folder: Path, *, code: bool) -> tuple[str, ...]:
        """Write what the tool reads instead of the project's configuration to the folder, and
        return the arguments for it. `code`: the folder has the base's plug-ins, which may run.
        """
        return ()

    async def follow_command(self, survey: "Survey") -> list[str]:
        """Note what the tool's command line names and loads; return configuration files in it."""
        survey.named += (f"/{name}{end}" for name in self.rule_files for end in ("", "/**"))
        return survey.follow_arguments(self.args)

    async def follow_file(self, path: str, text: str, survey: "Survey") -> list[str]:
        """Note what one configuration file names and loads; return others to follow."""
        return await survey.follow_keys(path, text)

    def build_command(self, program: Sequence[str], tree: Tree, kit: Kit) -> tuple[str, ...]:
        """Return the command line up to the files."""
        end = () if self.whole else ("--",)
        return (*program, *self.options, *self.project_options(tree, kit), *self.args, *end)

    def add_files(self, head: Sequence[str], files: Sequence[str]) -> list[str]:
        return [*head, *files]

    def parse_output(self, ran: ProcessResult, sources: Sources) -> Analysis:
        return self.parser(ran.stdout, sources, self.name)


class CommandAnalyzer:
    """Analyzer that runs a tool's command."""

    def __init__(self, tool: AnalyzerTool, kit: Kit) -> None:
        self._tool = tool
        self._kit = kit
        self.name = tool.name

    def list_seen(self, tree: Tree, paths: Sequence[str]) -> list[str] | None:
        """Return those of the files that the tool looks at; None if that is not known."""
        if not self._tool.reach_known:
            return None
        return [path for path in paths if self._tool.sees_file(path, tree)]

    def identify(self) -> str:
        """Return what decides, with a commit and its files, what the tool reports; '' if that is
        not known: it may read more than these.
        """
        tool, kit = self._tool, self._kit
        program = tool.find_program(kit)
        more = (kit.wishes.read, tool.inputs, kit.configurations.get(tool.name))
        if not program or any(more) or not self.confined or kit.is_tracked(program[0]):
            return ""
        known = tool.identify_program(program)
        chosen = (program, sorted(vars(tool).items()), kit.wishes, probe_support(), os.getuid())
        env = sorted(build_environment().items())
        return known and f"{known} {identify_readers()} {chosen!r} {env}"

    async def analyze(self, tree: Tree, paths: Sequence[str] | None) -> Analysis:
        tool = self._tool
        tracked = tree.files()
        wanted = frozenset(tracked if paths is None else paths)
        files = [path for path in tracked if path in wanted and tool.wants_file(path, tree)]
        if not files:
            return Analysis(skipped="no files it looks at")
        if idle := tool.skip_reason(tree):
            return Analysis(skipped=idle)
        program = tool.find_program(self._kit)
        if not program:
            hint = f"{tool.install}, or leave it out of the enabled analyzers"
            return Analysis(failed=f"{tool.name} is not installed; {hint}")
        if self._kit.is_tracked(program[0], tree):
            why = "a program of the code under review is not run"
            refusal = f"the repository carries its own {tool.name}, and {why}"
            return Analysis(failed=refusal) if tool.asked else Analysis(skipped=refusal)
        known = self._kit.configurations.get(tool.name)
        if obstacle := (known and known.obstacle) or tool.find_obstacle(tree, self._kit):
            return Analysis(failed=f"{tool.name} did not look: {obstacle}")
        return await self._run_tool(tree, program, files, whole=paths is None)

    async def _run_tool(
        self, tree: Tree, program: Sequence[str], files: Sequence[str], *, whole: bool
    ) -> Analysis:
        tool = self._tool
        sources = Sources(tree)
        with self._lend_folders(tree), temporary_folder("punchlist-tool-") as scratch:
            folder = resolve_path(scratch)
            code = await self._write_code(folder)
            try:
                more = tool.write_configuration(tree, folder, code=code)
            except UnusableConfigurationError as error:
                return Analysis(failed=f"{tool.name} did not look: {error}")
            ground = _Ground(tree, sources, folder)
            head = tool.build_command((*program, *more), tree, self._kit)
            parts = await self._run_portions(self._share_files(head, files, tree), ground)
            answer = account_files(tool, join_analyses(tool.name, parts), files, tree)
            if unfound := tool.list_hidden(answer.left_out, tree):
                answer = await self._name_files(head, unfound, answer, ground)
        return _keep_files(answer, {"", *files}) if tool.whole and not whole else answer

    async def _name_files(
        self, head: Sequence[str], files: Sequence[str], first: Analysis, ground: "_Ground"
    ) -> Analysis:
        """Return the analysis together with that of files which the tool did not find by itself,
        and is given by name.
        """
        tool = self._tool
        portions = [Portion(tool.name_files(head), part) for part in chunk_files(files)]
        parts = await self._run_portions(portions, ground)
        second = _keep_files(join_analyses(tool.name, parts), set(files))
        if second.failed:
            second = Analysis(missed=dict.fromkeys(files, second.failed), looked=frozenset())
        second = account_files(tool, second, files, ground.tree)
        left = tuple(path for path in first.left_out if path not in files)
        both = join_analyses(tool.name, [replace(first, left_out=left), second])
        return replace(both, looked_at=first.looked_at + second.looked_at, beyond=first.beyond)

    @property
    def confined(self) -> bool:
        return not self._tool.borrows and sandbox_kind() == "bubblewrap"

    async def _write_code(self, folder: Path) -> bool:
        """Write the base's plug-ins to a folder in which nothing of the change can shadow what
        they import; return whether the tool may load code.
        """
        known, read = self._kit.configurations.get(self._tool.name), self._kit.read_base
        if known is None or not known.allowed:
            return False
        for path in known.files if read else ():
            content = await read(path) if read else None
            if content is not None:
                (folder / CODE / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / CODE / path).write_bytes(content)
        return True

    def _share_files(
        self, head: Sequence[str], files: Sequence[str], tree: Tree
    ) -> list["Portion"]:
        """Return the calls that together are about all files."""
        if self._tool.whole:
            return [Portion(head, ())]
        groups = self._tool.group_files(files, tree)
        return [
            Portion(_add_options(head, options), portion)
            for options, group in groups
            for share in self._split_evenly(group)
            for portion in chunk_files(share)
        ]

    def _split_evenly(self, files: Sequence[str]) -> list[Sequence[str]]:
        most = min(self._kit.width, len(files) // WORTH_A_PROCESS) if self._tool.slow else 1
        count = max(most, 1)
        # Every n-th file goes to the n-th process: neighbours are alike in size.
        return [files[share::count] for share in range(count)]

    async def _run_portions(
        self, portions: Sequence["Portion"], ground: "_Ground"
    ) -> list[Analysis]:
        """Run the tool over portions of files, at most `width` at a time."""
        free = asyncio.Semaphore(self._kit.width)
        spare = iter(range(MOST_CALLS))

        async def run_one(portion: Portion) -> Analysis:
            async with free:
                command = self._tool.add_files(portion.head, portion.files)
                answer = await self._run_command(command, *ground)
            if not isinstance(answer, _Crash):
                return answer
            if len(portion.files) == 1:
                return answer.blame(ground.sources.tracked_path(portion.files[0]))
            if not portion.files or next(spare, None) is None:
                return answer.analysis
            halves = [await run_one(half) for half in portion.halves]
            return join_analyses(self._tool.name, halves)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(run_one(portion)) for portion in portions]
        except ExceptionGroup as errors:  # the engine treats an error by its class
            raise errors.exceptions[0] from errors
        return [task.result() for task in tasks]

    @contextmanager
    def _lend_folders(self, tree: Tree) -> Iterator[None]:
        """Link the folders of the checkout that the tool loads code from into the tree."""
        lent: list[Path] = []
        checkout = self._kit.checkout
        for name in self._tool.borrows if checkout else ():
            here, there = tree.root / name, (checkout or tree.root) / name
            if is_folder(there) and not os.path.lexists(here):
                here.symlink_to(resolve_path(there))
                lent.append(here)
        try:
            yield
        finally:
            for link in lent:
                link.unlink(missing_ok=True)

    async def _run_command(
        self, command: Sequence[str], tree: Tree, sources: Sources, folder: Path
    ) -> "Analysis | _Crash":
        """Run one command; a failed one keeps the findings of its report."""
        tool, kit = self._tool, self._kit
        inputs = [path for path in (*tool.inputs, folder) if path_exists(path)]
        needs = kit.find_needs(command, all_programs=tool.uses_path)
        sandbox = offline_sandbox(tree, (*needs, *inputs), kit)
        env = {**build_environment(), **tool.env}
        if is_folder(folder / CODE):
            roots = (folder / CODE / root for root in ROOTS)
            env["PYTHONPATH"] = os.pathsep.join(str(path) for path in roots if is_folder(path))
        ran = await run(
            command,
            origin=kit.find_origin(command[0]),
            cwd=tree.root,
            env=env,
            timeout=kit.timeout,
            limit=_QUOTAS.output,
            walls=sandbox,
        )
        analysis = tool.parse_output(ran, sources)
        if not ran.trouble and ran.exit_code in tool.exits:
            return analysis
        tail = _output_tail(ran, tool.log)
        failed = f"{tool.name}: {ran.trouble or f'exit code {ran.exit_code}'}{tail}"
        answer = replace(analysis, failed=failed)
        return _Crash(tool.name, answer) if ran.signalled else answer


class Portion(NamedTuple):
    """One call: the command line up to the files, and the files as arguments."""

    head: Sequence[str]
    files: Sequence[str]

    @property
    def halves(self) -> tuple["Portion", "Portion"]:
        middle = len(self.files) // 2
        return Portion(self.head, self.files[:middle]), Portion(self.head, self.files[middle:])


class _Ground(NamedTuple):
    """What the calls of one analysis share; `folder` has the tool's own configuration."""

    tree: Tree
    sources: Sources
    folder: Path


class _Crash(NamedTuple):
    """A call that a signal ended, such as a stack overflow: one file may have brought it about."""

    tool: str
    analysis: Analysis

    def blame(self, path: str) -> Analysis:
        """Return the analysis of a call about this one file."""
        why = f"it makes {self.tool} crash ({_last_line(self.analysis.failed)})"
        return Analysis(missed={path: why}, unread=(path,), looked=frozenset())


async def run_probe(
    command: Sequence[str], kit: Kit, env: Mapping[str, str] = MappingProxyType({})
) -> ProcessResult:
    """Ask an analyzer's program about itself, outside of any tree, behind walls: it may lie in the
    checkout, and Python programs load what the `.pth` files beside them name.
    """
    walls = Sandbox(
        kind=ChildKind.ANALYZER,
        binds=tuple((path, path, False) for path in kit.find_needs(command)),
        hidden=(*list_secrets(Path.home()), *kit.private),
        required=kit.wishes.required,
        consented=kit.wishes.unfenced,
    )
    return await run(
        command,
        origin=kit.find_origin(command[0]),
        cwd=Path("/"),
        env={**build_environment(), **env},
        timeout=_PROBE_SECONDS,
        walls=walls,
    )


def build_environment() -> dict[str, str]:
    """Return the variables for an analyzer: UTF-8, no colour, the sandbox's home if any."""
    home = {"HOME": str(HOME)} if sandbox_kind() == "bubblewrap" else {}
    return {
        **base_environment(home=not home),
        "LC_ALL": "C.UTF-8",
        "PYTHONUTF8": "1",
        "NO_COLOR": "1",
        # Else `python -m` would load modules of the tree: its working folder comes first.
        "PYTHONSAFEPATH": "1",
        **home,
    }


def chunk_files(files: Sequence[str], limit: int = ARGV_LIMIT) -> Iterator[list[str]]:
    """Yield the files in chunks that fit a command line."""
    portion: list[str] = []
    size = 0
    for name in map(safe_argument, files):
        length = len(name.encode("utf-8", "surrogateescape")) + 1
        if portion and size + length > limit:
            yield portion
            portion, size = [], 0
        portion.append(name)
        size += length
    if portion:
        yield portion


def safe_argument(path: str) -> str:
    """Return a path that no tool takes for an option, a response file or an exclusion."""
    return path if path[0].isalnum() or path[0] in "._" else f"./{path}"


def find_files(tree: Tree, *names: str) -> list[str]:
    """Return the tracked files with these names, anywhere in the tree."""
    wanted = frozenset(names)
    return [path for path in tree.files() if PurePosixPath(path).name in wanted]


def _keep_files(analysis: Analysis, files: set[str]) -> Analysis:
    kept = tuple(finding for finding in analysis.findings if finding.spot.path in files)
    beyond = tuple(finding for finding in analysis.findings if finding.spot.path not in files)
    return replace(analysis, findings=kept, beyond=beyond)


def _add_options(head: Sequence[str], options: Sequence[str]) -> tuple[str, ...]:
    """Return the command with more options, before the end of its options."""
    return (*head[:-1], *options, head[-1]) if options else tuple(head)


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2].removeprefix("fatal runtime error: ")


def _output_tail(ran: ProcessResult, log: re.Pattern[str] | None) -> str:
    """Return the end of what it printed as an error, without its log."""
    errors = ran.stderr.decode("utf-8", "replace").splitlines()
    said = "\n".join(line for line in errors if not (log and log.match(line))).strip()
    output = said or ran.stdout.decode("utf-8", "replace").strip()
    return f": {output[-600:]}" if output else ""
