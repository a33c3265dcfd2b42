"""The filter of system calls where no mounts hide what a child must not use."""

import errno

from punchlist.adapters.sandbox.seccomp import (
    AND,
    JUMP_EQUAL,
    PASS,
    SECOND,
    Instruction,
    build_filter,
    find_machine,
    load,
    refuse,
)

_SOCKETPAIR = {1: 53, 2: 199}
"""By the column of the machine's numbers."""
_STREAM, _PACKETS = 1, 5
_TRUNCATE = {1: 76, 2: 45}
_METADATA = {
    1: (90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280, 452),
    2: (5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 88, 452),
}
"""Modes, owners, times and attributes, which Landlock has no rules for."""
_METADATA_NEW = (463, 466, 469)
"""setxattrat, removexattrat and file_setattr have the same numbers everywhere."""


def build_bare_filter(*, network: bool, metadata: bool, truncate: bool) -> bytes:
    """Return a filter without unix sockets, because those of daemons are in reach by their paths.

    Without `metadata` calls that change modes and the like do nothing and say that they did: a
    program that writes nothing of value does not need them, but may stop if they fail. `truncate`:
    whether Landlock holds it.
    """
    machine = find_machine()
    if machine is None:
        return b""
    column = machine.column
    code: list[Instruction] = []
    for number in () if metadata else (*_METADATA[column], *_METADATA_NEW):
        code += [(JUMP_EQUAL, 0, 1, number), refuse(0)]
    if not truncate:
        code += [(JUMP_EQUAL, 0, 1, _TRUNCATE[column]), refuse(errno.EPERM)]
    code += _check_socketpair(_SOCKETPAIR[column])
    return build_filter(unix_sockets=False, network=network, more=tuple(code))


def _check_socketpair(number: int) -> list[Instruction]:
    """Refuse pairs of datagram sockets: one of them could send to any other socket by its path."""
    return [
        (JUMP_EQUAL, 0, 6, number),
        load(SECOND),
        (AND, 0, 0, 0xF),
        (JUMP_EQUAL, 2, 0, _STREAM),
        (JUMP_EQUAL, 1, 0, _PACKETS),
        refuse(errno.EPERM),
        PASS,
    ]
