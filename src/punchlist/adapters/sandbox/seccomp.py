"""A seccomp filter (classic BPF) that refuses the system calls by which sandboxes are left."""

import errno
import os
import struct
from functools import cache
from typing import NamedTuple

_DENIED = """
    syslog 103 116  pivot_root 155 41  chroot 161 51  acct 163 89  settimeofday 164 170
    mount 165 40  umount2 166 39  swapon 167 224  swapoff 168 225
    reboot 169 142  sethostname 170 161  setdomainname 171 162  init_module 175 105
    delete_module 176 106  quotactl 179 60  clock_settime 227 112  kexec_load 246 104
    add_key 248 217  request_key 249 218  keyctl 250 219  unshare 272 97  perf_event_open 298 241
    fanotify_init 300 262  name_to_handle_at 303 264  open_by_handle_at 304 265
    clock_adjtime 305 266  setns 308 268  kcmp 312 272  finit_module 313 273
    kexec_file_load 320 294  bpf 321 280  userfaultfd 323 282  io_uring_setup 425 425
    io_uring_enter 426 426  io_uring_register 427 427  open_tree 428 428  move_mount 429 429
    fsopen 430 430  fsconfig 431 431  fsmount 432 432  fspick 433 433
    pidfd_getfd 438 438  mount_setattr 442 442  quotactl_fd 443 443
"""
"""Each with its number on x86-64 and on ARM64. Compilers, tests and agents need none of them."""
_TRACING = "  ptrace 101 117  process_vm_readv 310 270  process_vm_writev 311 271"
"""What debuggers and leak checkers need. A tracer cannot lift the filter of what it traces."""
_DENIED_X86 = (134, 153, 154, 159, 172, 173, 174, 177, 178, 180, 212)
"""Obsolete ones: uselib, vhangup, modify_ldt, adjtimex, iopl, ioperm and those of modules."""
_NEW_NAMESPACES = 0x7E020000
"""Flags of clone for new mount, cgroup, UTS, IPC, user, PID and network namespaces."""
_CLONE3 = 435
_X32 = 0x40000000
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which type for the user."""
_RESERVE = (0x40305828, 0x4030582A, 0x40305839)
"""FS_IOC_RESVSP, FS_IOC_RESVSP64 and FS_IOC_ZERO_RANGE: older forms of fallocate."""
_PUNCH_HOLE = 2
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_RAW, _PACKET = 3, 10
_NUMBER, _ARCHITECTURE, _FIRST, SECOND, _THIRD = 0, 4, 16, 24, 32
"""Offsets of the call's number and arguments; the low halves, as these machines have it."""
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, AND, RETURN = (0x20, 0x15, 0x35, 0x45, 0x54, 0x06)

Instruction = tuple[int, int, int, int]


class Machine(NamedTuple):
    column: int
    audit: int
    clone: int
    ioctl: int
    socket: int
    fallocate: int


_MACHINES = {
    "x86_64": Machine(1, 0xC000003E, 56, 16, 41, 285),
    "aarch64": Machine(2, 0xC00000B7, 220, 29, 198, 47),
}


def find_machine() -> Machine | None:
    """Return how this machine numbers its calls, or None if that is not known here."""
    return _MACHINES.get(os.uname().machine)


@cache
def build_filter(
    *,
    unix_sockets: bool,
    tracing: bool = False,
    network: bool = True,
    more: tuple[Instruction, ...] = (),
) -> bytes:
    """Return the filter's program for this machine, or b'' if its calls are not known here.

    `tracing` is for children that see no other processes than their own. `more` is executed with
    the call's number loaded, and has to keep it.
    """
    machine = find_machine()
    if machine is None:
        return b""
    code = [
        *_check_architecture(machine),
        *_deny_calls(machine, tracing=tracing),
        *more,
        *_check_clone(machine),
        *_check_fallocate(machine),
        *_check_ioctl(machine),
        *_check_socket(machine, unix_sockets=unix_sockets, network=network),
    ]
    return b"".join(struct.pack("HBBI", *each) for each in code)


def load(offset: int) -> Instruction:
    return (_LOAD, 0, 0, offset)


def refuse(number: int) -> Instruction:
    return (RETURN, 0, 0, _ERRNO | number)


PASS: Instruction = (RETURN, 0, 0, _ALLOW)


def _check_architecture(machine: Machine) -> list[Instruction]:
    """Refuse the calls of other instruction sets, which have other numbers."""
    return [
        load(_ARCHITECTURE),
        (JUMP_EQUAL, 1, 0, machine.audit),
        refuse(errno.ENOSYS),
        load(_NUMBER),
        (_JUMP_AT_LEAST, 0, 1, _X32),
        refuse(errno.ENOSYS),
    ]


def _deny_calls(machine: Machine, *, tracing: bool) -> list[Instruction]:
    table = _DENIED if tracing else _DENIED + _TRACING
    numbers = [int(word) for word in table.split()[machine.column :: 3]]
    numbers += _DENIED_X86 if machine.column == 1 else ()
    code = []
    for number in numbers:
        code += [(JUMP_EQUAL, 0, 1, number), refuse(errno.EPERM)]
    # clone3 has its flags in memory, where a filter cannot look; libraries then call clone.
    return [*code, (JUMP_EQUAL, 0, 1, _CLONE3), refuse(errno.ENOSYS)]


def _check_clone(machine: Machine) -> list[Instruction]:
    return [
        (JUMP_EQUAL, 0, 4, machine.clone),
        load(_FIRST),
        (_JUMP_ANY_BIT, 0, 1, _NEW_NAMESPACES),
        refuse(errno.EPERM),
        PASS,
    ]


def _check_fallocate(machine: Machine) -> list[Instruction]:
    """Allow to free room, not to reserve it, by which a disk is full at once: many file systems
    do not have that either, and libraries then write.
    """
    return [
        (JUMP_EQUAL, 0, 4, machine.fallocate),
        load(SECOND),
        (_JUMP_ANY_BIT, 1, 0, _PUNCH_HOLE),
        refuse(errno.EOPNOTSUPP),
        PASS,
    ]


def _check_ioctl(machine: Machine) -> list[Instruction]:
    refused = dict.fromkeys(_TERMINAL_INPUT, errno.EPERM)
    refused |= dict.fromkeys(_RESERVE, errno.EOPNOTSUPP)
    code = []
    for number, error in refused.items():
        code += [(JUMP_EQUAL, 0, 1, number), refuse(error)]
    return [(JUMP_EQUAL, 0, len(code) + 2, machine.ioctl), load(SECOND), *code, PASS]


def _check_socket(machine: Machine, *, unix_sockets: bool, network: bool) -> list[Instruction]:
    """Allow TCP and UDP, routing messages, and unix sockets if they may be used; no raw ones."""
    families = [*([_INET, _INET6] if network else []), *([_UNIX] if unix_sockets else [])]
    known = [
        (JUMP_EQUAL, len(families) - place + 4, 0, family) for place, family in enumerate(families)
    ]
    return [
        (JUMP_EQUAL, 1, 0, machine.socket),
        PASS,
        load(_FIRST),
        *known,
        (JUMP_EQUAL, 0, 3, _NETLINK),
        load(_THIRD),
        (JUMP_EQUAL, 0, 1, 0),
        PASS,
        refuse(errno.EAFNOSUPPORT),
        load(SECOND),
        (AND, 0, 0, 0xF),
        (JUMP_EQUAL, 1, 0, _RAW),
        (JUMP_EQUAL, 0, 1, _PACKET),
        refuse(errno.EPERM),
        PASS,
    ]
