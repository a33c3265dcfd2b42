"""What the sandbox of each kind of child allows, and whether it can be had on this machine."""

import os
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.process.run import Origin, run
from punchlist.adapters.sandbox.profiles import PROFILES, Profile
from punchlist.adapters.sandbox.sandbox import Sandbox
from punchlist.adapters.sandbox.support import probe_support
from punchlist.errors import SettingsError
from punchlist.settings import LoadedSettings


class SandboxRow(Struct, frozen=True, kw_only=True):
    """The sandbox of one kind of child. `lacks`: what this machine cannot give it."""

    kind: str
    runs: str
    reads: str
    writes: str
    reaches: str
    unix_sockets: bool
    limits: tuple[str, ...]
    works: bool | None = None
    """Whether a program was just run in it; None if it was not tried."""
    lacks: tuple[str, ...] = ()


async def try_sandboxes() -> list[SandboxRow]:
    """Return the table, with a program run in the sandbox of each kind."""
    support = probe_support()
    rows = []
    for kind, profile in PROFILES.items():
        ran = await run(
            ["true"], origin=Origin.OURS, cwd=Path("/"), walls=Sandbox(kind=kind), timeout=20
        )
        rows.append(_make_row(profile, works=ran.ok, lacks=support.list_weaknesses(kind)))
    return rows


def is_root() -> bool:
    return os.getuid() == 0


def list_sandboxes() -> list[SandboxRow]:
    """Return the table as it is on every machine that can give all of it."""
    return [_make_row(profile) for profile in PROFILES.values()]


def check_sandbox_settings(loaded: LoadedSettings) -> None:
    """Raise SettingsError if a sandbox is required and cannot be had."""
    settings = loaded.settings
    if not settings.sandbox.required:
        return
    support = probe_support()
    if not settings.agents.sandbox:
        raise SettingsError(
            "sandbox.required: agents.sandbox is false, so agents would have none",
            hint="leave one of the two out",
        )
    if not support.complete:
        raise SettingsError(
            f"sandbox.required: the sandbox is not complete here: {'; '.join(support.weaknesses)}",
            hint="`punchlist doctor --security` shows what is missing; on Linux install bubblewrap",
        )


def _make_row(
    profile: Profile, *, works: bool | None = None, lacks: tuple[str, ...] = ()
) -> SandboxRow:
    quotas = profile.quotas
    limits = {
        "{} s": quotas.seconds,
        "{} of memory": _format(quotas.memory),
        "{} processes and threads": quotas.processes,
        "{} written": _format(quotas.disk) if quotas.disk else "",
        "{} files": quotas.files if quotas.disk else 0,
        "files of {}": _format(quotas.file_size),
        "a {} /tmp": _format(quotas.tmp),
        "{} printed": _format(quotas.output),
    }
    return SandboxRow(
        kind=profile.kind.value,
        runs=profile.runs,
        reads=profile.reads,
        writes=profile.writes,
        reaches=profile.reaches,
        unix_sockets=profile.unix_sockets,
        limits=tuple(words.format(value) for words, value in limits.items() if value),
        works=works,
        lacks=lacks,
    )


def _format(size: int) -> str:
    return f"{size >> 30} GB" if size >= 1 << 30 else f"{size >> 20} MB"
