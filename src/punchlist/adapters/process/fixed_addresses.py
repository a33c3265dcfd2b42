"""Start programs at the same addresses each time: in older Pythons, hash(None) is an address."""

import ctypes
import sys
from functools import cache

from punchlist.adapters.process.programs import which_any

_NO_RANDOMIZE = 0x0040000
_ASK = 0xFFFFFFFF


@cache
def find_prefix() -> tuple[str, ...]:
    """Return the words before a command that switch address randomisation off, () where the
    system does not let that be, as in some containers.
    """
    program = which_any("setarch") if sys.platform == "linux" else None
    return (program, "-R") if program and _may_switch_off() else ()


def _may_switch_off() -> bool:
    """Return whether this thread may switch it off; it is as before afterwards."""
    libc = ctypes.CDLL(None)
    known: int = libc.personality(_ASK)
    allowed = known != -1 and libc.personality(known | _NO_RANDOMIZE) != -1
    if allowed:
        libc.personality(known)
    return allowed
