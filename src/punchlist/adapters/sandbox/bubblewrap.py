"""Write a sandbox as a command line of bubblewrap."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from punchlist.adapters.folders.look import is_file, is_folder, is_link, path_exists, resolve_path
from punchlist.adapters.sandbox.home_view import find_certificates
from punchlist.adapters.sandbox.installations import SYSTEM
from punchlist.adapters.sandbox.mounts import Mount, plan_mounts
from punchlist.adapters.sandbox.sandbox import HOME, PRIVATE, Sandbox
from punchlist.adapters.sandbox.seccomp import build_filter

ETC = """
    alternatives crypto-policies fonts gai.conf ImageMagick-6 ImageMagick-7 ld.so.cache locale.alias
    localtime magic mime.types os-release php pki/ca-trust pki/tls/certs pki/tls/cert.pem protocols
    R services ssl/certs ssl/cert.pem ssl/openssl.cnf timezone
"""
"""What programs read of /etc; no settings in which a key could stand."""
_COPIED = 128 << 10
"""Smaller files of /etc are copied, which is faster than a mount."""
_READ_ONLY_PROC = "sys irq bus fs acpi scsi mtrr pressure sysrq-trigger"
"""Parts of /proc that belong to root, who can write to some of them without any capability."""
_EMPTY_PROC = "kcore kmsg timer_list kpagecgroup kpagecount kpageflags slabinfo vmallocinfo"
_NSSWITCH = b"passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"
GITCONFIG = b"[safe]\n\tdirectory = *\n[core]\n\thooksPath = /dev/null\n[gc]\n\tauto = 0\n"
_HOST = "sandbox"


class Descriptors:
    """Files in memory that a child inherits; closed with the stack that they are made in."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.numbers: list[int] = []

    def add(self, content: bytes) -> str:
        """Return the number of a new descriptor from which the content can be read."""
        number = os.memfd_create("punchlist")
        self._stack.callback(os.close, number)
        with os.fdopen(os.dup(number), "wb") as file:
            file.write(content)
        os.lseek(number, 0, os.SEEK_SET)
        self.numbers.append(number)
        return str(number)


def build_arguments(
    sandbox: Sandbox, cwd: Path, env: Mapping[str, str], held: Descriptors, lacks: frozenset[str]
) -> Iterator[str]:
    """Yield bubblewrap's options; `lacks` names what this machine cannot give."""
    yield from _separate(sandbox, lacks)
    yield from _show_system(lacks)
    yield from _make_etc(sandbox, env, held)
    for folder in PRIVATE:
        size = () if "size" in lacks else ("--size", str(choose_tmp_size(sandbox)))
        yield from (*size, "--perms", "1777", "--tmpfs", str(folder))
    yield from ("--dir", str(HOME))
    empty = []
    certificates = tuple((path, path, False) for path in find_certificates(env))
    sandbox = replace(sandbox, binds=(*certificates, *sandbox.binds))
    for mount in plan_mounts(sandbox, cwd):
        yield from _write_mount(mount, held)
        empty += [mount] if mount.source is None and mount.content is None else []
    for path in ("/", "/dev", *(str(mount.target) for mount in empty)):
        yield from ("--remount-ro", path)
    if "seccomp" not in lacks:
        profile = sandbox.profile
        program = build_filter(unix_sockets=profile.unix_sockets, tracing=profile.tracing)
        yield from ("--seccomp", held.add(program))
    yield from ("--chdir", str(cwd))


def choose_tmp_size(sandbox: Sandbox) -> int:
    """Return the quota, or less on a machine with little memory, which such a folder is."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(sandbox.profile.quotas.tmp, memory // 4)


def _separate(sandbox: Sandbox, lacks: frozenset[str]) -> Iterator[str]:
    yield from "--die-with-parent --unshare-ipc --unshare-pid --unshare-uts".split()
    yield from ("--unshare-cgroup-try", "--hostname", _HOST, "--cap-drop", "ALL")
    if not sandbox.network and "network" not in lacks:
        yield "--unshare-net"
    if "user" not in lacks:
        yield "--unshare-user"
        if "lock" not in lacks:
            yield "--disable-userns"


def _show_system(lacks: frozenset[str]) -> Iterator[str]:
    for folder in SYSTEM:
        if is_link(folder):
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif is_folder(folder):
            yield from ("--ro-bind", str(folder), str(folder))
    yield from (
        "--dev",
        "/dev",
        "--dir",
        "/run",
        "--dir",
        "/var",
        "--symlink",
        "../run",
        "/var/run",
    )
    if "proc" in lacks:
        yield from ("--dir", "/proc")
        return
    yield from ("--proc", "/proc")
    if os.getuid() == 0:
        yield from _guard_proc()


@cache
def _guard_proc() -> tuple[str, ...]:
    """Return mounts that keep root from writing to the kernel's settings."""
    line: list[str] = []
    for path in (f"/proc/{name}" for name in _READ_ONLY_PROC.split()):
        line += ("--ro-bind", path, path) if path_exists(Path(path)) else ()
    for path in (f"/proc/{name}" for name in _EMPTY_PROC.split()):
        line += ("--ro-bind", "/dev/null", path) if path_exists(Path(path)) else ()
    return tuple(line)


@cache
def _read_etc() -> dict[Path, bytes | None]:
    """Return what is shown of /etc: the content of small files, None for all else."""
    names = (*ETC.split(), *(path.name for path in Path("/etc").glob("java*")))
    paths = [path for name in names if path_exists(path := Path("/etc", name))]
    small = {path for path in paths if is_file(path) and path.stat().st_size <= _COPIED}
    return {path: path.read_bytes() if path in small else None for path in paths}


def _make_etc(sandbox: Sandbox, env: Mapping[str, str], held: Descriptors) -> Iterator[str]:
    """Yield what is shown of /etc: some of the system's files, and some that are made up."""
    contents = {}
    for path, content in _read_etc().items():
        if is_link(path) and is_file(path) and resolve_path(path).is_relative_to("/usr"):
            yield from ("--symlink", str(path.readlink()), str(path))
        elif content is None:
            yield from ("--ro-bind", str(resolve_path(path)), str(path))
        else:
            contents[str(path.relative_to("/etc"))] = content
    home, user, group = env.get("HOME", str(HOME)), os.getuid(), os.getgid()
    name = "root" if user == 0 else "user"
    made = {
        "passwd": f"{name}:x:{user}:{group}::{home}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
        "group": f"{name}:x:{group}:\nnogroup:x:65534:\n",
        "hosts": f"127.0.0.1 localhost {_HOST}\n::1 localhost\n",
        "resolv.conf": "",
    }
    contents |= {key: text.encode() for key, text in made.items()}
    if sandbox.network:
        contents |= {key: _read_bytes(f"/etc/{key}") for key in ("hosts", "resolv.conf")}
    contents |= {"nsswitch.conf": _NSSWITCH, "gitconfig": GITCONFIG}
    for key, content in contents.items():
        yield from ("--perms", "0444", "--file", held.add(content), f"/etc/{key}")


def _write_mount(mount: Mount, held: Descriptors) -> tuple[str, ...]:
    if mount.source is not None:
        return ("--bind" if mount.writable else "--ro-bind", str(mount.source), str(mount.target))
    if mount.content is not None:
        return ("--ro-bind-data", held.add(mount.content), str(mount.target))
    return ("--tmpfs", str(mount.target))


def _read_bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
