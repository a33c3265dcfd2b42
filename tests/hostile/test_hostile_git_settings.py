"""No program that a repository's own git configuration names is started: not by any setting that this git knows, in any file that it may stand in, as root and as another user."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from git_settings import FIXED, HOOKS, Programs, find_refused, list_keys, write_settings
from hostile_ground import RUFF, SOURCE

from needs import miss, rarely

BAD = "import os\n\nprint(1)\n"
NOBODY = 65534
REFUSED: dict[str, frozenset[str]] = {}
"""By what stands before the program: settings with which git itself refuses to work."""
REMOTE_CALLS = """
import asyncio
from pathlib import Path
from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.remotes import call_remote
from punchlist.adapters.git.working_tree import snapshot_working_tree
from punchlist.adapters.git.workshop import Workshop

async def call_all():
    checkout = await Checkout.find(Path.cwd())
    await snapshot_working_tree(await Workshop.open(checkout, Path.cwd().parent / "other"), ["a.py"])
    for command, *refs in (
        ("fetch --quiet",),
        ("fetch --quiet --no-tags", "+refs/heads/main:refs/punchlist/x"),
        ("ls-remote", "refs/heads/main"),
        ("push --quiet --no-verify", "HEAD:refs/heads/pushed"),
        ("push --quiet", ":refs/heads/pushed"),
    ):
        ran = await call_remote(checkout.user_git, command.split(), "origin", refs)
        assert ran.ok, (command, ran.stderr)

asyncio.run(call_all())
"""


class Victim:
    """A user with a repository that was copied from a stranger, with its `.git`."""

    def __init__(self, folder: Path, *, other_user: bool) -> None:
        self.folder, self.root, self.remote = folder, folder / "repo", folder / "remote.git"
        self.other_user = other_user
        self.python = _find_python() if other_user else sys.executable
        packages = [each for each in sys.path if each.endswith("site-packages")]
        path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])
        self.env = {
            "HOME": str(folder / "home"),
            "PATH": path,
            "PYTHONPATH": os.pathsep.join([SOURCE, *packages]),
            "PUNCHLIST_HOME": str(folder / "state"),
        }
        (folder / "home").mkdir()
        self.root.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")
        (self.root / ".gitattributes").write_text("*.py filter=evil diff=evil merge=evil\n")
        (self.root / "b.py").write_text("X = 1\n")
        self._commit("base")
        self.git("clone", "--quiet", "--bare", ".", str(self.remote))
        self.git("checkout", "--quiet", "-b", "topic")
        (self.root / "a.py").write_text(BAD)
        self._commit("topic")
        self.programs = Programs(folder)

    def _commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def git(self, *arguments: str, code: int | None = 0) -> str:
        ran = self.start("git", *arguments)
        assert code is None or ran.returncode == code, ran.stderr
        return ran.stdout

    def punchlist(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command as the user; files look changed, so that git reads them."""
        for each in self.root.glob("*.py"):
            os.utime(each, (1, 1))
        ran = self.start(self.python, "-m", "punchlist", *arguments)
        assert "Traceback" not in ran.stdout + ran.stderr, ran.stderr
        return ran

    def start(self, *command: str) -> subprocess.CompletedProcess[str]:
        if self.other_user:
            for below, folders, files in os.walk(self.folder):
                for each in (below, *(str(Path(below, name)) for name in folders + files)):
                    os.chown(each, NOBODY, NOBODY, follow_symlinks=False)
            drop = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
            command = ("setpriv", *drop, *command)
        return subprocess.run(
            command, cwd=self.root, env=self.env, capture_output=True, text=True, check=False
        )

    def name_programs(self, mark: str) -> dict[str, str]:
        """Return every setting that git takes, with a program of its own; `mark` stands before it."""
        named = {key: f"{mark}{self.programs.make(key)}" for key in list_keys()}
        named |= {key: value or str(self.programs.make(key)) for key, value in FIXED.items()}
        if mark not in REFUSED:
            REFUSED[mark] = frozenset(find_refused(self.root, named))
        kept = {key: value for key, value in named.items() if key not in REFUSED[mark]}
        assert len(kept) > 500, sorted(REFUSED[mark])
        assert {"core.fsmonitor", "core.sshCommand", "filter.evil.clean"} <= kept.keys()
        return kept

    def add_hooks(self) -> None:
        for name in HOOKS:
            hook = self.root / ".git/hooks" / name
            hook.parent.mkdir(exist_ok=True)
            hook.write_text(self.programs.make(f"hook-{name}").read_text())
            hook.chmod(0o755)


def _find_python() -> str:
    found = f"/usr/bin/python3.{sys.version_info.minor}"
    return found if Path(found).exists() else miss(f"NOT TESTED: there is no {found}")


@pytest.fixture(params=["this user", *rarely("another user")])
def victim(request):
    other = request.param == "another user"
    if other and os.geteuid() != 0:
        pytest.skip("NOT TESTED HERE: becoming another user needs root")
    if other and not shutil.which("setpriv"):
        miss("NOT TESTED: there is no setpriv, with which root becomes another user")
    folder = Path(tempfile.mkdtemp(prefix="punchlist-victim-"))
    folder.chmod(0o755)
    yield Victim(folder, other_user=other)
    shutil.rmtree(folder)


def hide_in(victim: Victim, where: str, text: str) -> None:
    """Write the settings where git finds them as the repository's own."""
    git_dir = victim.root / ".git"
    config = git_dir / "config"
    own = config.read_text()
    match where:
        case "config":
            config.write_text(own + text)
        case "config.worktree":
            config.write_text(f"{own}[extensions]\n\tworktreeConfig = true\n")
            (git_dir / "config.worktree").write_text(text)
        case "include":
            config.write_text(f"{own}[include]\n\tpath = more\n")
            (git_dir / "more").write_text(text)
        case "includeIf":
            config.write_text(f'{own}[includeIf "gitdir:{git_dir}"]\n\tpath = more\n')
            (git_dir / "more").write_text(text)


def test_git_itself_starts_such_programs(victim):
    program = victim.programs.make("fsmonitor")
    hide_in(victim, "config", write_settings([("core.fsmonitor", str(program))]))
    victim.git("status")
    assert victim.programs.marks == ["fsmonitor"]


FEW = (("review", *RUFF), ("run", "--no-checks", *RUFF), ("apply",))
MANY = (
    ("review", *RUFF),
    ("run", "--dry-run", "--no-checks", *RUFF),
    ("run", "--no-checks", *RUFF),
    ("status",),
    ("list",),
    ("show",),
    ("doctor",),
    ("export", "--to", "../home/evidence"),
    ("prove", "HEAD", "--yes"),
    ("run", "--staged", "--no-checks", *RUFF),
    ("apply",),
    ("discard", "last"),
    ("clean",),
)
MUST_WORK = {"review", "run", "status", "list", "show"}


@pytest.mark.parametrize(
    ("where", "mark", "commands"),
    [
        ("config", "", MANY),
        ("config.worktree", "!", FEW),
        *rarely(("include", "", FEW), ("includeIf", "!", FEW)),
    ],
)
def test_no_command_starts_a_program_that_the_repository_names(victim, where, mark, commands):
    hide_in(victim, where, write_settings(victim.name_programs(mark).items()))
    victim.add_hooks()
    for arguments in commands:
        ran = victim.punchlist(*arguments)
        assert victim.programs.marks == [], arguments
        works = arguments[0] in MUST_WORK and "--staged" not in arguments
        assert not works or ran.returncode in (0, 1), (arguments, ran.stdout + ran.stderr)


def test_neither_fetch_nor_push_starts_a_program_that_the_repository_names(victim):
    """To a remote on this machine, which has programs of its own."""
    settings = victim.name_programs("")
    theirs = {key: value for key, value in settings.items() if not key.startswith("remote.")}
    remote = victim.remote / "config"
    remote.write_text(remote.read_text() + write_settings(theirs.items()).replace("hooksPath", "x"))
    unused = ("remote.origin.url", "remote.origin.pushurl", "remote.origin.fetch")
    own = {key: value for key, value in settings.items() if key.lower() not in unused}
    own |= {
        "remote.origin.url": str(victim.remote),
        "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
    }
    hide_in(victim, "config", write_settings(own.items()))
    victim.add_hooks()
    ran = victim.start(victim.python, "-c", REMOTE_CALLS)
    assert ran.returncode == 0, ran.stderr
    assert victim.programs.marks == []
    assert victim.git("-c", "core.fsmonitor=false", "for-each-ref", "refs/remotes/origin/main")


@pytest.mark.parametrize("url", ["ext::{} %S", *rarely("evil::x", "ssh://host/x", "{}")])
def test_an_object_that_is_missing_is_not_fetched_by_a_program_of_the_repository(victim, url):
    """As a partial clone does, which gets what is missing when it is wanted."""
    program = victim.programs.make("fetch")
    blob = victim.git("rev-parse", "HEAD:a.py").strip()
    (victim.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    settings = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "evil",
        "remote.evil.promisor": "true",
        "remote.evil.url": url.format(program),
        "remote.evil.uploadpack": str(program),
        "core.sshCommand": str(program),
        "protocol.ext.allow": "always",
    }
    hide_in(victim, "config", write_settings(settings.items()))
    for arguments in (("review", *RUFF), ("run", "--no-checks", *RUFF), ("doctor",), ("list",)):
        victim.punchlist(*arguments)
        assert victim.programs.marks == [], arguments


def test_a_submodule_is_not_entered_with_its_own_configuration(victim):
    inner = victim.root / "inner"
    victim.git("clone", "--quiet", str(victim.remote), "inner")
    victim.git("add", "inner")
    victim.git("commit", "--quiet", "--message", "inner")
    program = victim.programs.make("inner")
    settings = {"core.fsmonitor": str(program), "filter.evil.clean": str(program)}
    config = inner / ".git/config"
    config.write_text(config.read_text() + write_settings(settings.items()))
    victim.git("remote", "add", "origin", str(victim.remote))
    os.utime(inner / "b.py", (1, 1))
    for arguments in (("review", *RUFF), ("run", "--no-checks", *RUFF), ("apply",)):
        victim.punchlist(*arguments)
        assert victim.programs.marks == [], arguments
    (victim.root / "b.py").write_text("X = 2\n")
    ran = victim.start(victim.python, "-c", REMOTE_CALLS)
    assert ran.returncode == 0, ran.stderr
    assert victim.programs.marks == []


def test_a_rewritten_address_turns_no_local_fetch_into_a_program(victim):
    settings = {
        "core.sshCommand": str(victim.programs.make("ssh")),
        "url.ssh://evil/.insteadOf": "/",
    }
    hide_in(victim, "config", write_settings(settings.items()))
    for arguments in (("run", "--no-checks", *RUFF), ("apply",)):
        ran = victim.punchlist(*arguments)
        assert victim.programs.marks == [], arguments
        assert ran.returncode == 0, ran.stdout + ran.stderr
