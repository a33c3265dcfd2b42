"""The identity of a repository: its registered name, or its remote however that is spelled."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from punchlist.adapters.folders.look import resolve_path

NAME = "punchlist.repository"
"""The setting of git that registers a name: `git config punchlist.repository NAME`."""
_REMOTE = re.compile(r"remote\.(.+)\.url", re.DOTALL)
_INSTEAD = re.compile(r"url\.(.+)\.insteadof", re.DOTALL)
_SCP = re.compile(r"(?:(?P<user>[^@/:]*)@)?(?P<host>\[[^\]/]+\]|[^:/\[\]]{2,}):(?!//)(?P<path>.*)")
_PORTS = {"https": 443, "http": 80, "git": 9418}
_SECURE_SHELL = frozenset({"ssh", "git+ssh", "ssh+git"})
_OTHER_HOSTS = {
    "ssh.github.com": "github.com",
    "www.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}
_ANY_CASE = frozenset({"github.com", "gitlab.com", "bitbucket.org", "dev.azure.com"})
"""Hosts that do not tell capital letters from small ones in paths."""
_LOCAL = re.compile(r"[^.]*|127\..*|.*\.(?:local|localhost|internal|lan|home)|\[.*\]")
"""Hosts that may be another one on another machine: aliases of ssh, addresses of this one."""


class RemoteName(NamedTuple):
    """`vague`: another repository may have the same name, so that a root commit must tell them
    apart.
    """

    name: str
    vague: bool


def choose_name(settings: Iterable[tuple[str, str]], root: Path) -> RemoteName | None:
    """Return the repository's name by git's settings (name and value, in git's order): the
    registered one, else that of `origin` or of the only remote; None if there is none.
    """
    remotes: dict[str, str] = {}
    instead: dict[str, str] = {}
    registered = ""
    for key, value in settings:
        if key == NAME:
            registered = value.strip()
        elif found := _REMOTE.fullmatch(key):
            remotes.setdefault(found[1], value)
        elif found := _INSTEAD.fullmatch(key):
            instead[value] = found[1]
    if registered:
        return RemoteName(f"name:{registered}", vague=True)
    url = remotes.get("origin") or (next(iter(remotes.values())) if len(remotes) == 1 else "")
    return normalise_remote(_rewrite(url, instead), root) if url else None


def _rewrite(url: str, instead: Mapping[str, str]) -> str:
    """Return the URL as git's `url.BASE.insteadOf` makes it: the longest beginning counts."""
    fitting = max((part for part in instead if url.startswith(part)), key=len, default="")
    return instead[fitting] + url.removeprefix(fitting) if fitting else url


def normalise_remote(url: str, root: Path) -> RemoteName | None:
    """Return one name for all spellings of a remote, without user, password and query; None for
    what names no repository. A relative path is one from `root`.
    """
    url = url.strip()
    if "://" not in url:
        found = _SCP.fullmatch(url)
        if found and not url.startswith(("/", ".", "~")):
            return _name_host("ssh", found["host"], found["path"], user=found["user"] or "")
        return _name_folder(url, root)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    scheme, host = parts.scheme.lower(), parts.hostname or ""
    if scheme == "file":
        return _name_folder(unquote(parts.path), root)
    if ":" in host:
        host = f"[{host}]"
    shown = "" if scheme in _SECURE_SHELL or port in {None, _PORTS.get(scheme)} else f":{port}"
    user = (parts.username or "") if scheme in _SECURE_SHELL else ""
    return _name_host(scheme, host, unquote(parts.path), user=user, port=shown)


def _name_host(
    scheme: str, host: str, path: str, *, user: str = "", port: str = ""
) -> RemoteName | None:
    host = host.lower().rstrip(".")
    host = _OTHER_HOSTS.get(host, host)
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if not host or not parts or ".." in parts:
        return None
    if host == "dev.azure.com" and parts[0] == "v3" and len(parts) == 4:
        parts = [*parts[1:3], "_git", parts[3]]
    parts[-1] = parts[-1].removesuffix(".git") or parts[-1]
    name = "/".join(parts)
    if host in _ANY_CASE:
        return RemoteName(f"{host}/{name.lower()}", vague=False)
    # Below the home folder of one user a path may be another repository than of another user.
    at_home = user not in {"", "git"} and (len(parts) == 1 or parts[0].startswith("~"))
    return RemoteName(f"{host}{port}/{name}", vague=at_home or bool(_LOCAL.fullmatch(host)))


def _name_folder(path: str, root: Path) -> RemoteName | None:
    if not path:
        return None
    folder = resolve_path(root / Path(path).expanduser())
    if folder.name == ".git":
        folder = folder.parent
    return RemoteName(f"file://{folder.with_name(folder.name.removesuffix('.git'))}", vague=True)
