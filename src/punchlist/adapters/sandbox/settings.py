"""Settings of the sandbox that every child process gets."""

from pathlib import Path

from msgspec import Struct

from punchlist.adapters.sandbox.sandbox import SandboxWishes


class SandboxSettings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Analyzers, checks, hooks and agents see only what is listed for them (`punchlist doctor
    --security`). A repository cannot set these.
    """

    required: bool = False
    """Whether nothing is run where the sandbox is missing or incomplete."""
    read: tuple[str, ...] = ()
    """Files and folders that all children may read besides, such as a toolchain in an unusual
    place.
    """

    unfenced: bool = False
    """Whether analyzers of the checkout (`.venv/bin/mypy`) may run on a machine that has no sandbox
    at all. Checks and hooks are asked for by `punchlist allow`.
    """

    @property
    def wishes(self) -> SandboxWishes:
        read = tuple(Path(name).expanduser() for name in self.read)
        return SandboxWishes(self.required, read, self.unfenced)
