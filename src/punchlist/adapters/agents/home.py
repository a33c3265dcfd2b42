"""An agent's own home and temporary folder, and the sandbox around it."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from punchlist.adapters.folders.look import is_file, path_exists, resolve_path
from punchlist.adapters.process.run import base_environment
from punchlist.adapters.sandbox.git_view import RepositoryView, find_git_dirs, show_repository
from punchlist.adapters.sandbox.home_view import list_secrets
from punchlist.adapters.sandbox.installations import (
    find_installations,
    find_named_files,
    find_path_installations,
)
from punchlist.adapters.sandbox.profiles import ChildKind
from punchlist.adapters.sandbox.sandbox import Sandbox, SandboxWishes
from punchlist.adapters.sandbox.secret_files import find_secret_files

_LOGINS: Mapping[str, tuple[str, ...]] = {
    "claude": (".claude/.credentials.json",),
    "codex": (".codex/auth.json",),
    "gemini": (".gemini/oauth_creds.json", ".gemini/google_accounts.json"),
    "opencode": (".local/share/opencode/auth.json",),
    "qwen": (".qwen/oauth_creds.json",),
}
"""By kind of agent: the files below the home that its program keeps its login in, and nothing else.
Copilot's also says which folders are trusted, so it has to be named.
"""


class AgentPlace(Struct, frozen=True, kw_only=True):
    """Folders shared by the agents of one run; each agent has its own home below `folder`."""

    folder: Path
    state: Path
    """Punchlist's own state, which is hidden from them."""
    user: Path
    """The user's home: login files are copied from it, secrets in it are hidden."""
    sandbox: bool = True
    hosts: tuple[str, ...] = ()
    """Hosts that all of them may reach."""
    wishes: SandboxWishes = SandboxWishes()
    mail: Path | None = None
    """The mailbox of outside agents, if there is one."""

    def make_home(self, name: str) -> Path:
        return _make_private(self.folder / name / "home")

    def make_tmp(self, name: str) -> Path:
        return _make_private(self.folder / name / "tmp")


def _make_private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return resolve_path(folder)


def copy_login(files: Sequence[str], user: Path, home: Path) -> None:
    """Copy login files into the agent's home, once; it may renew its own copy."""
    for name in files:
        source, target = user / name, home / name
        if _is_inside(name) and is_file(source) and not path_exists(target):
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o600)


def find_logins(kind: str, user: Path) -> tuple[str, ...]:
    """Return the login files of this kind of agent that exist; none of them is read."""
    return tuple(name for name in _LOGINS.get(kind, ()) if is_file(user / name))


def _is_inside(name: str) -> bool:
    return not name.startswith("/") and ".." not in PurePosixPath(name).parts


def build_sandbox(
    place: AgentPlace, name: str, tree: Path, command: Sequence[str], *, writes: bool
) -> Sandbox:
    """Return a sandbox with the tree, writable if `writes`, the agent's home and its program."""
    root, path = resolve_path(tree), base_environment()["PATH"]
    private = (place.user, resolve_path(place.state))
    shown = {
        *find_installations(command, path, private),
        *find_named_files(command[1:], private),
        *find_path_installations(path, private),
        *(each for each in place.wishes.read if path_exists(each)),
    }
    view = _show_repository(root, place.state)
    return Sandbox(
        kind=ChildKind.AGENT,
        binds=(*((each, each, False) for each in sorted(shown)), *view.binds, (root, root, writes)),
        files=view.files,
        writable=(place.make_home(name), place.make_tmp(name)),
        hidden=(*list_secrets(place.user), place.state, *find_secret_files(root)),
        required=place.wishes.required,
    )


def _show_repository(root: Path, state: Path) -> RepositoryView:
    """Show the repository of a lent tree; one that is not below punchlist's state is not shown."""
    folders = find_git_dirs(root)
    ours = folders is not None and folders[1].is_relative_to(resolve_path(state))
    return show_repository(root) if ours else RepositoryView()
