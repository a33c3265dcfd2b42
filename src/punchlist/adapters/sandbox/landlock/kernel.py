"""Which version of Landlock the kernel has, and what it holds."""

import ctypes
import sys
from functools import cache

from msgspec import Struct

from punchlist.adapters.sandbox.profiles import ChildKind

_CREATE_RULESET, _ASK_VERSION = 444, 1
_PROXIED = frozenset({ChildKind.AGENT, ChildKind.SETUP})
"""Children that have to reach hosts outside."""


class LandlockSupport(Struct, frozen=True):
    """The version of Landlock's interface, 0 if there is none, and what comes with it."""

    abi: int = 0
    namespaces: bool = False
    """Whether a child can have a network of its own."""
    mounts: bool = False
    """Whether all that a child may not write to can be read-only for it."""
    filtered: bool = True
    """Whether there is a filter of system calls for this machine."""

    def reaches_network(self, kind: ChildKind) -> bool:
        """Return whether a child of this kind can reach hosts outside without a proxy."""
        return not self.namespaces and (kind in _PROXIED or not self.filtered)


@cache
def find_version() -> int:
    """Return the version of Landlock's interface, or 0 if the kernel has none or it is off."""
    if sys.platform != "linux":
        return 0
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)))
