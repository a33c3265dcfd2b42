"""Make a virtual environment from what a project's files name, outside the checkout.

The project itself is installed only so far that its metadata and commands are there: its code is
imported from the tree under check, never from a copy or a link in the environment.
"""

import re
import secrets
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.checks.environment import CheckoutContext, LaunchSpec, prepare_launch
from punchlist.adapters.egress.run_behind_proxy import run_behind_proxy
from punchlist.adapters.egress.traffic import EgressLog
from punchlist.adapters.environments.find_pythons import FoundPython, find_python_with
from punchlist.adapters.environments.named_packages import NamedPackages
from punchlist.adapters.environments.registries import (
    build_egress,
    describe_refusal,
    installer_environment,
)
from punchlist.adapters.environments.registry_settings import complete_environment, list_sources
from punchlist.adapters.environments.tree_links import NOTE, EnvironmentNote, find_links, read_note
from punchlist.adapters.folders.look import is_file, is_link, list_folder, path_exists, resolve_path
from punchlist.adapters.folders.remove import remove_folder
from punchlist.adapters.process.registry_environment import (
    list_registry_files,
    registry_environment,
)
from punchlist.adapters.process.run import Origin, ProcessResult, base_environment, run, which
from punchlist.adapters.sandbox.profiles import PROFILES, ChildKind
from punchlist.adapters.sandbox.support import can_hold_network, sandbox_kind
from punchlist.errors import ToolError
from punchlist.ports.tree import Tree
from punchlist.views.safe_text import remove_secrets

PINS = "pins.txt"
_COVERAGE = "coverage"
_MAKING = ".making-"
_QUOTAS = PROFILES[ChildKind.SETUP].quotas
_SHOWN = 1200
_VERSION = "import sys; print('%d.%d.%d' % sys.version_info[:3], sys.executable)"
_LOGIN = re.compile(r"(?<=://)[^/\s@]+@")
_AT_ONCE = {"PIP_RETRIES": "0", "PIP_DEFAULT_TIMEOUT": "5", "UV_HTTP_RETRIES": "0"}
_CLAUSE = re.compile(r"(>=|<=|==|!=|~=|\^|~|>|<)\s*(\d+(?:\.\d+)*)")


class BasePython(Struct, frozen=True):
    path: str
    version: str


class SetupStep(Struct, frozen=True):
    """A command; a failure of an `optional` one is only told."""

    command: tuple[str, ...]
    optional: bool = False


class SetupPlan(Struct, frozen=True, kw_only=True):
    """What will be done: the steps run in the tree, and make `folder` with `python`."""

    folder: Path
    commit: str
    tree: str
    """The commit that it is made from, and the commit's tree."""
    python: BasePython
    files: tuple[str, ...]
    pins: tuple[str, ...] = ()
    steps: tuple[SetupStep, ...]
    sandbox: str = ""
    patient: bool = True
    """Installers ask a registry again that does not answer; that takes a quarter of a minute."""

    @property
    def made(self) -> bool:
        return is_finished(self.folder)

    @property
    def fingerprint(self) -> str:
        """Return a hash for the user's permission: another command or file content changes it."""
        return sha256(msgspec.json.encode((self.folder.name, self.steps))).hexdigest()


def is_finished(folder: Path) -> bool:
    return read_note(folder) is not None and path_exists(folder / "bin/python")


async def find_base_python(supported: str) -> BasePython:
    """Return the first Python here that the project supports, else the first one."""
    names = ("python3", *(f"python3.{minor}" for minor in range(15, 7, -1)))
    own = BasePython(sys.executable, ".".join(map(str, sys.version_info[:3])))
    first = None
    for path in dict.fromkeys((which(names[0]), own.path, *map(which, names[1:]))):
        python = own if path == own.path else await _ask_version(path) if path else None
        if python and _is_supported(python.version, supported):
            return python
        first = first or python
    return first or own


async def _ask_version(path: str) -> BasePython | None:
    """Ask a Python of the user's for its version, without what its site packages would run."""
    command = [path, "-I", "-S", "-c", _VERSION]
    ran = await run(command, origin=Origin.USERS, cwd=Path("/"), timeout=30)
    version, _, executable = ran.stdout.decode(errors="replace").strip().partition(" ")
    return BasePython(executable, version) if ran.ok and executable else None


def plan_coverage(folder: Path, python: BasePython) -> tuple[SetupStep, ...]:
    """Return the commands that make an environment with coverage.py alone, in the least time; none
    if the Python has it.
    """
    base, create = [FoundPython(python.path, "")], (python.path, "-m", "venv")
    if find_python_with(base, _COVERAGE):
        return ()
    target, uv = ("--python", str(folder / "bin/python")), which("uv")
    if uv:
        install: tuple[str, ...] = (uv, "pip", "install", *target)
    elif find_python_with(base, "pip"):
        install = (python.path, "-m", "pip", *target, "install")
    else:
        return SetupStep((*create, str(folder))), SetupStep((*_installer(folder), _COVERAGE))
    return SetupStep((*create, "--without-pip", str(folder))), SetupStep((*install, _COVERAGE))


def plan_steps(
    named: NamedPackages, texts: dict[str, str], folder: Path, python: BasePython, *, pytest: bool
) -> tuple[SetupStep, ...]:
    """Return the commands that make the environment; uv installs where it is there."""
    bare = ("--without-pip",) if which("uv") else ()
    create = SetupStep((python.path, "-m", "venv", *bare, str(folder)))
    install = _installer(folder)
    pins = ("-c", str(folder / PINS)) if named.pins else ()
    steps = [
        # Hashes are an own mode of pip, in which every version must have one.
        (*install, *(() if "--hash=" in texts[path] else pins), "-r", path)
        for path in named.requirement_files
    ]
    project = () if named.project is None else ("-e", _format_project(named.project))
    if project or named.requirements:
        steps.append((*install, *pins, *project, *named.requirements))
    listed = "\n".join([*named.requirements, *(texts[path] for path in named.requirement_files)])
    if pytest and not re.search(r"^\s*pytest(?![\w.-])", listed, re.MULTILINE):
        steps.append((*install, *pins, "pytest"))
    made = [SetupStep(command) for command in steps]
    return (create, *made, SetupStep((*install, *pins, _COVERAGE), optional=True))


class EnvironmentMaker:
    """Makes one planned environment from a tree, in the sandbox of checks; it reaches the user's
    package registries and `hosts`.
    """

    def __init__(
        self, plan: SetupPlan, tree: Tree, ground: CheckoutContext, hosts: Sequence[str] = ()
    ) -> None:
        self._plan = plan
        self._tree = tree
        self._ground = replace(ground, kind=ChildKind.SETUP)
        self._draft = plan.folder.with_name(f"{_MAKING}{secrets.token_hex(4)}")
        self._sandboxed = sandbox_kind() == "bubblewrap"
        installer = "uv" if which("uv") else "pip"
        self._registry = complete_environment(registry_environment(), installer)
        self._sources = list_sources(self._registry, installer)
        self._egress = build_egress(self._registry, hosts, installer, EgressLog())

    async def make(self, say: Callable[[str], None]) -> None:
        """Make it in a folder beside its place, then rename that; a failure leaves nothing."""
        self._egress.log.tell = lambda refused: say(describe_refusal(refused))
        plan, draft = self._plan, self._draft
        try:
            for name in ("env", "tmp"):
                (draft / name).mkdir(parents=True)
            (draft / "env" / PINS).write_text("".join(f"{pin}\n" for pin in plan.pins))
            for step in plan.steps:
                await self._run_step(step, say)
            folders = await self._detach_tree(say)
            self._finish(folders)
        finally:
            remove_folder(draft)

    async def _run_step(self, step: SetupStep, say: Callable[[str], None]) -> None:
        say(f"$ {shlex.join(step.command)}")
        ran = await self._run(step.command)
        if ran.ok:
            return
        told = _describe_failure(ran)
        if not step.optional:
            hint = "nothing was kept; repair that and try again, or make a .venv in your checkout"
            raise ToolError(f"{shlex.join(step.command)}: {told}", hint=hint)
        say(f"left out: {told.splitlines()[-1] if told else 'it failed'}")

    async def _run(self, command: Sequence[str]) -> ProcessResult:
        with self._launch() as stage:
            moved = [word.replace(str(self._plan.folder), str(self._place)) for word in command]
            return await run_behind_proxy(
                moved,
                self._egress,
                stage.sandbox,
                origin=Origin.THEIRS,
                cwd=stage.cwd,
                env=stage.env,
                timeout=_QUOTAS.seconds,
                limit=_QUOTAS.output,
                trim=True,
            )

    @property
    def _place(self) -> Path:
        """Where the children see the environment: with a sandbox, at its final place."""
        return self._plan.folder if self._sandboxed else self._draft / "env"

    @contextmanager
    def _launch(self) -> Iterator[LaunchSpec]:
        temporary, registry = self._draft / "tmp", self._registry
        work = Path(tempfile.mkdtemp(dir=temporary))
        python = [self._plan.python.path]
        with prepare_launch(self._tree, self._ground, work, python) as stage:
            files = list_registry_files(registry, self._sources)
            binds = [(path, path, False) for path in files]
            binds += [(temporary, temporary, True), (self._draft / "env", self._place, True)]
            env = {
                **base_environment(),
                **{name: stage.env[name] for name in ("HOME", "CI")},
                **registry,
                "PIP_NO_CACHE_DIR": "1",
                "PIP_NO_INPUT": "1",
                "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                "UV_CACHE_DIR": str(temporary / "uv"),
                "UV_PYTHON_DOWNLOADS": "never",
                "TMPDIR": str(temporary),
                **({} if self._plan.patient else _AT_ONCE),
                **(installer_environment(self._egress) if can_hold_network() else {}),
            }
            fenced = replace(stage.sandbox, binds=(*stage.sandbox.binds, *binds))
            yield replace(stage, env=env, sandbox=fenced)

    async def _detach_tree(self, say: Callable[[str], None]) -> tuple[str, ...]:
        """Remove everything by which the environment has the tree's code, and return the folders
        that it would have been imported from.
        """
        env = self._draft / "env"
        root = self._ground.checkout if self._sandboxed else self._tree.root
        for copied in [path for path, _, linked in _find_own(env, root) if not linked]:
            again = ("--no-deps", "--force-reinstall", "-e", str(copied))
            await self._run_step(SetupStep((*_installer(self._plan.folder), *again)), say)
        own, links = list(_find_own(env, root)), list(find_links(env, root))
        for path, _, linked in own:
            if not linked:
                raise ToolError(f"a copy of the project stays in the environment: {path}")
        for file in (
            *(file for file, _ in links),
            *(f for _, info, _ in own for f in _list_code(info)),
        ):
            # What was installed could have planted a link that leads out of the environment.
            if resolve_path(file.parent).is_relative_to(resolve_path(env)):
                file.unlink(missing_ok=True)
        return tuple(sorted({below for _, below in links}))

    def _finish(self, folders: tuple[str, ...]) -> None:
        env, folder = self._draft / "env", self._plan.folder
        if not self._sandboxed:
            for script in list_folder(env / "bin"):
                if is_file(script) and not is_link(script):
                    text = script.read_bytes()
                    script.write_bytes(text.replace(bytes(env), bytes(folder)))
        note = EnvironmentNote(
            folders=folders,
            version=self._plan.python.version,
            commit=self._plan.commit,
            tree=self._plan.tree,
        )
        (env / NOTE).unlink(missing_ok=True)
        (env / NOTE).write_bytes(msgspec.json.encode(note))
        if not is_finished(folder):
            remove_folder(folder)
            env.rename(folder)


def _find_own(env: Path, root: Path) -> Iterator[tuple[Path, Path, bool]]:
    """Yield what was installed from the tree: its folder there, its metadata, and whether it is a
    link and no copy.
    """
    for info in list_folder(env, "lib/python*/site-packages/*.dist-info"):
        try:
            text = (info / "direct_url.json").read_bytes()
            known = msgspec.json.decode(text, type=dict[str, object])
        except (OSError, msgspec.MsgspecError, RecursionError):
            continue
        path, about = Path(unquote(urlsplit(str(known.get("url"))).path)), known.get("dir_info")
        if path.is_relative_to(root):
            yield path, info, isinstance(about, dict) and about.get("editable") is True


def _list_code(info: Path) -> Iterator[Path]:
    """Yield what a distribution brought beside its metadata and its commands."""
    for line in (info / "RECORD").read_text(errors="replace").splitlines():
        name = line.partition(",")[0].strip('"')
        if name and not name.startswith(("..", "/", f"{info.name}/")):
            yield info.parent / name


def _installer(folder: Path) -> tuple[str, ...]:
    python, uv = str(folder / "bin/python"), which("uv")
    return (uv, "pip", "install", "--python", python) if uv else (python, "-m", "pip", "install")


def _format_project(extras: Sequence[str]) -> str:
    return f".[{','.join(extras)}]" if extras else "."


def _describe_failure(ran: ProcessResult) -> str:
    """Return the end of the output, without logins and secrets."""
    printed = (ran.stderr.strip() or ran.stdout.strip()).decode(errors="replace")
    text = remove_secrets(_LOGIN.sub("", printed))[-_SHOWN:]
    return "\n".join(filter(None, (ran.trouble, text))) or f"exit code {ran.exit_code}"


def _is_supported(version: str, supported: str) -> bool:
    """Compare a Python with the bounds of `requires-python`; what is not understood is ignored."""
    have = tuple(map(int, version.split(".")))
    for sign, text in _CLAUSE.findall(supported):
        bound = tuple(map(int, text.split(".")))
        same = have[: len(bound)]
        if (
            (sign in {">=", "^", "~", "~="} and have < bound)
            or (sign == ">" and have <= bound)
            or (sign == "<" and have >= bound)
            or (sign == "<=" and same > bound)
            or (sign == "==" and same != bound)
            or (sign == "!=" and same == bound)
            or (sign == "^" and have[0] > bound[0])
            or (sign == "~=" and have[: len(bound) - 1] > bound[:-1])
        ):
            return False
    return True
