"""Restrict this process by the plan in a descriptor, then become the command: FD COMMAND...

Runs by itself, without punchlist, in the child: namespaces, Landlock, no capabilities, the filter.
"""

import ctypes
import fcntl
import json
import os
import socket
import stat
import struct
import sys
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PATH_BENEATH = 1
FILE_RIGHTS = 1 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
"""Execute, write, read, truncate, ioctl: rights that a rule for a single file may have."""
_NEW_USER, _NEW_NET, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000
_NEW_MOUNTS = 0x00020000
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18
_MOUNT_SETATTR, _AT_CWD, _WHOLE_TREE, _READ_ONLY = 442, -100, 0x8000, 1
_NO_NEW_PRIVS, _SET_SECCOMP, _DROP_BOUNDING = 38, 22, 24
_FILTER_MODE, _CAPABILITIES_3, _CAPABILITIES = 2, 0x20080522, 64
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_CAPSET = {"x86_64": 126}
_CAPSET_ELSEWHERE = 91
LIBC = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    with os.fdopen(int(sys.argv[1]), "rb") as file:
        plan = json.load(file)
    try:
        if plan["separate"]:
            separate_namespaces(_NEW_MOUNTS if plan["mounts"] else 0)
        if plan["mounts"]:
            lock_mounts(**plan["mounts"])
        restrict_files(plan["handled"], plan["paths"])
        drop_capabilities()
        install_filter(bytes.fromhex(plan["filter"]))
    except OSError as error:
        sys.exit(f"landlock: {error.strerror}: {error.filename}")
    os.environ.update(plan["env"])
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606  # the command that was asked for


def separate_namespaces(more: int) -> None:
    """Enter new user, network and IPC namespaces, with nothing but loopback, and `more`."""
    user, group = os.getuid(), os.getgid()
    wanted = _NEW_NET | _NEW_IPC | more
    if LIBC.unshare(_NEW_USER | wanted) == 0:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            Path("/proc/self", name).write_text(text)
    else:  # root may do without a user namespace
        _check(LIBC.unshare(wanted), "unshare")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        asked = fcntl.ioctl(device, _GET_FLAGS, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", asked)[1]
        fcntl.ioctl(device, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))


def lock_mounts(writable: list[str], shared_memory: str, size: int) -> None:
    """Make everything read-only but these folders, and shared memory private: Landlock has no rules
    for modes and times.
    """
    here = os.getcwd()  # noqa: PTH109  # the folder has to be entered again, by its new mount
    _check(LIBC.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None), "private mounts")
    for path in map(os.fsencode, writable):
        _check(LIBC.mount(path, path, None, _BIND | _RECURSIVE, None), "mount")
    _set_mount(b"/", struct.pack("4Q", _READ_ONLY, 0, 0, 0), _WHOLE_TREE)
    for path in map(os.fsencode, writable):
        _set_mount(path, struct.pack("4Q", 0, _READ_ONLY, 0, 0), 0)
    options = f"size={size},mode=1777".encode()
    _check(LIBC.mount(b"tmpfs", os.fsencode(shared_memory), b"tmpfs", 6, options), "shared memory")
    os.chdir(here)


def _set_mount(path: bytes, attributes: bytes, flags: int) -> None:
    call = LIBC.syscall(_MOUNT_SETATTR, _AT_CWD, path, flags, attributes, len(attributes))
    _check(call, "read-only mounts")


def restrict_files(handled: list[int], paths: list[tuple[str, int]]) -> None:
    """Let this process and its descendants use only these paths, with these rights."""
    attributes = struct.pack(f"{len(handled)}Q", *handled)
    ruleset = _check(LIBC.syscall(CREATE_RULESET, attributes, len(attributes), 0), "Landlock")
    for path, rights in paths:
        try:
            place = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        folder = stat.S_ISDIR(os.fstat(place).st_mode)
        if allowed := rights if folder else rights & FILE_RIGHTS:
            rule = struct.pack("=Qi", allowed, place)
            _check(LIBC.syscall(ADD_RULE, ruleset, PATH_BENEATH, rule, 0), path)
        os.close(place)
    _check(LIBC.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    _check(LIBC.syscall(RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)


def drop_capabilities() -> None:
    """Give up all capabilities, also for programs that are executed as root."""
    for number in range(_CAPABILITIES):
        if LIBC.prctl(_DROP_BOUNDING, number, 0, 0, 0):
            break  # the last one that this kernel knows, or an ordinary user, who has none
    call = _CAPSET.get(os.uname().machine, _CAPSET_ELSEWHERE)
    header, none = struct.pack("Ii", _CAPABILITIES_3, 0), bytes(24)
    _check(LIBC.syscall(call, header, none), "capabilities")


def install_filter(code: bytes) -> None:
    if code:
        buffer = ctypes.create_string_buffer(code, len(code))
        program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
        _check(LIBC.prctl(_SET_SECCOMP, _FILTER_MODE, program, 0, 0), "filter of system calls")


def _check(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), what)
    return result


if __name__ == "__main__":
    main()
