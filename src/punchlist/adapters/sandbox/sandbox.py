"""What one child may see and use, as a value."""

from pathlib import Path

from msgspec import Struct

from punchlist.adapters.sandbox.git_view import Bind, MadeFile
from punchlist.adapters.sandbox.profiles import PROFILES, ChildKind, Profile

TMP = Path("/", "tmp")
"""Replaced in the sandbox, as are the other private folders."""
PRIVATE = (TMP, Path("/var", "tmp"), Path("/dev", "shm"))
HOME = TMP / "home"


class Rlimits(Struct, frozen=True, omit_defaults=True):
    """Limits per process that differ from the profile's, in bytes; 0: as the profile has it."""

    memory: int = 0
    """Address space."""
    file_size: int = 0


class SandboxWishes(Struct, frozen=True):
    """What the user's settings say about every sandbox."""

    required: bool = False
    """Whether no child may be started without a complete one."""
    read: tuple[Path, ...] = ()
    """Files and folders that all children may read besides."""
    unfenced: bool = False
    """Whether programs of a repository may run where the machine has no sandbox."""


class Sandbox(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A child's view: the system's programs, its own /tmp, and what is named here, else nothing.

    `binds` are (source, target, writable); `writable` folders are mounted in place; `files` are
    made up, read-only; `hidden` paths are empty. Of two that overlap the inner one counts.
    """

    kind: ChildKind = ChildKind.CHECK
    writable: tuple[Path, ...] = ()
    binds: tuple[Bind, ...] = ()
    files: tuple[MadeFile, ...] = ()
    hidden: tuple[Path, ...] = ()
    network: bool = False
    rlimits: Rlimits = Rlimits()
    required: bool = False
    """Whether the child must not be started without a complete sandbox."""
    consented: bool = False
    """Whether the user allowed this very child, so that it may run where there is no sandbox."""

    @property
    def profile(self) -> Profile:
        return PROFILES[self.kind]
