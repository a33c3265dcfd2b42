"""Machines that lack something: new namespaces, as in containers, or Landlock."""

import errno
import struct

from punchlist.adapters.sandbox.landlock import restrict
from punchlist.adapters.sandbox.seccomp import JUMP_EQUAL, PASS, find_machine, load, refuse

_UNSHARE = {1: 272, 2: 97}
_NO_NEW_PRIVS = 38


def refuse_namespaces():
    """Refuse this process and all that it starts the call that makes namespaces."""
    _refuse_call(_UNSHARE[find_machine().column], errno.EPERM)


def refuse_landlock():
    _refuse_call(restrict.CREATE_RULESET, errno.ENOSYS)


def _refuse_call(number, error):
    code = [load(0), (JUMP_EQUAL, 0, 1, number), refuse(error), PASS]
    restrict.LIBC.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    restrict.install_filter(b"".join(struct.pack("HBBI", *each) for each in code))
