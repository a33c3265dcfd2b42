"""Talk to a remote with the user's own configuration and logins, never with the repository's.

A remote on this machine is read and written by a clean view of it (see clean_view): git would else
start programs that its configuration and its hooks name.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from msgspec.structs import replace

from punchlist.adapters.folders.look import is_file, is_folder, read_text, resolve_path
from punchlist.adapters.git.clean_view import make_view, parse_settings
from punchlist.adapters.git.command import Git, decode_text, encode_text, split_fields
from punchlist.adapters.process.run import ProcessResult, named_environment
from punchlist.model.finding.late_pattern import late_pattern

_USERS = (
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT",
    "GIT_ASKPASS", "GIT_PROXY_COMMAND", "GIT_ALLOW_PROTOCOL", "HTTPS_PROXY", "https_proxy",
    "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy",
)  # fmt: skip
"""What the user's environment says about remotes and logins."""
_PROTOCOLS = {"GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh"}
"""No others: an address like `NAME::` starts the program git-remote-NAME."""
_SCP = late_pattern(r"[^/]*:.*")
_FILE = "file://"
_POINTER = "gitdir: "
_BUNDLE = b"# v"
_HOOKS = (
    "pre-receive", "update", "post-receive", "post-update", "reference-transaction",
    "proc-receive", "push-to-checkout",
)  # fmt: skip
_SUFFIXES = ("/.git", "", ".git/.git", ".git")
"""Where git looks for the repository that an address names."""


async def call_remote(
    git: Git,
    command: Sequence[str],
    remote: str,
    refs: Sequence[str] = (),
    login: Mapping[str, str] | None = None,
) -> ProcessResult:
    """Run `fetch`, `push` or `ls-remote` with its flags; a failure is in the result. `remote` is a
    name or an address, `login` variables for git (see Forge).
    """
    env = {**_PROTOCOLS, **named_environment(_USERS), **(login or {})}
    addresses = await _list_addresses(git, remote, push=command[0] == "push")
    if not any(_find_path(git.folder, each) for each in addresses):
        ran = await git.run(*command, "--", remote, *refs, env=env)
        return ran if ran.ok else _explain_failure(git, ran)
    if command[0] == "fetch" and not refs:
        refs = (await git.find_line("config", "--get-all", f"remote.{remote}.fetch")).split()
    for address in addresses:
        place, why = address, ""
        if path := _find_path(git.folder, address):
            place, why = await _open_local(path, push=command[0] == "push")
        if why:
            words = encode_text(f"{address}: {why}")
            return ProcessResult(command=tuple(command), exit_code=1, stderr=words)
        ran = await git.run(*command, "--", place, *refs, env=env)
        if not ran.ok or len(addresses) == 1:
            break
    return replace(ran, stderr=ran.stderr.replace(encode_text(place), encode_text(address)))


async def _list_addresses(git: Git, remote: str, *, push: bool) -> list[str]:
    """Return where git would fetch from, or all that it would push to, as the user's own
    configuration rewrites it.
    """
    named = await git.run("remote", "get-url", *(("--push", "--all") if push else ()), "--", remote)
    if named.ok and named.stdout.strip():
        return decode_text(named.stdout).splitlines()
    return [await git.find_line("ls-remote", "--get-url", "--", remote) or remote]


def _find_path(start: Path, address: str) -> Path | None:
    """Return the path that an address on this machine names; None for another machine's."""
    if address.startswith(_FILE):
        decoded = unquote(address.removeprefix(_FILE), errors="surrogateescape")
        return Path(decoded[max(decoded.find("/"), 0) :])
    if "://" in address or _SCP.fullmatch(address):
        return None
    return start / os.path.expanduser(address)  # noqa: PTH111  # an unknown user is no error


async def _open_local(path: Path, *, push: bool) -> tuple[str, str]:
    """Return the address of a clean view of the repository, or why there is none. A bundle is its
    own address.
    """
    if is_file(path) and path.read_bytes()[: len(_BUNDLE)] == _BUNDLE:
        return str(path), ""
    git_dir = _find_git_dir(path)
    if git_dir is None:
        return "", "does not appear to be a git repository"
    listed = await Git(git_dir, git_dir=git_dir).run("config", "-z", "--show-scope", "--list")
    settings = list(parse_settings(split_fields(listed.stdout)))
    hooks = [each.key for each in settings if each.is_own and each.key == "core.hookspath"]
    hooks += [name for name in _HOOKS if os.access(git_dir / "hooks" / name, os.X_OK)]
    if push and hooks:
        return "", f"it has hooks of its own ({hooks[0]}), and punchlist starts none: use git push"
    return str(make_view(git_dir, settings, whole=True)), ""


def _find_git_dir(path: Path) -> Path | None:
    """Return the git folder of a repository on this machine, as git would find it."""
    for suffix in _SUFFIXES:
        place = Path(f"{path}{suffix}")
        if is_file(place):
            pointer = read_text(place).strip()
            place = place.parent / pointer.removeprefix(_POINTER)
        if is_file(place / "HEAD") and is_folder(place / "refs"):
            return resolve_path(place)
    return None


def _explain_failure(git: Git, ran: ProcessResult) -> ProcessResult:
    """Return the failure with the settings that may have made the difference."""
    if not git.unused:
        return ran
    why = (
        f"\n{', '.join(git.unused)} of the repository's own configuration is not used;"
        " if you trust it, put it into your own: git config --global"
    )
    return replace(ran, stderr=ran.stderr.rstrip() + encode_text(why))
