"""Prepare what the launcher of a child needs to restrict it, and say what that does not hold."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from punchlist.adapters.folders.look import path_exists, resolve_path
from punchlist.adapters.sandbox.bubblewrap import GITCONFIG, choose_tmp_size
from punchlist.adapters.sandbox.installations import launcher_python
from punchlist.adapters.sandbox.landlock.bare_filter import build_bare_filter
from punchlist.adapters.sandbox.landlock.kernel import LandlockSupport
from punchlist.adapters.sandbox.landlock.rules import (
    SCOPES_SINCE,
    SHARED_MEMORY,
    WITH_SHARED_MEMORY,
    list_handled,
    list_rules,
    list_writable,
)
from punchlist.adapters.sandbox.profiles import ChildKind
from punchlist.adapters.sandbox.sandbox import Sandbox

LAUNCHER = Path(__file__).with_name("restrict.py")
_TRUNCATE_SINCE = 3


def list_weaknesses(found: LandlockSupport, kind: ChildKind) -> tuple[str, ...]:
    """Return what a child of this kind can do that its profile does not allow, or cannot do that
    it does.
    """
    words = {
        "Landlock instead of bubblewrap: names of files and processes outside can be seen": True,
        "modes and times of your files can be changed": not (
            found.mounts or _is_still(found, kind)
        ),
        ".git, .env and the like of a tree that it writes to are as open as the tree": (
            kind is not ChildKind.ANALYZER
        ),
        "shared memory is that of all your programs": (
            kind in WITH_SHARED_MEMORY and not found.mounts
        ),
        "no network namespace: the network can be reached": found.reaches_network(kind),
        "no network namespace: loopback cannot be used either": (
            not found.namespaces and not found.reaches_network(kind)
        ),
        "your other programs can be sent signals": found.abi < SCOPES_SINCE,
        "no filter of system calls": not found.filtered,
    }
    return tuple(text for text, holds in words.items() if holds)


def launcher_line() -> tuple[str, ...]:
    """Return the words before the number of the plan's descriptor and the command."""
    return (launcher_python(), "-I", "-S", str(LAUNCHER))


def make_scratch() -> Path:
    """Make the folder that takes the place of the private /tmp and home."""
    folder = resolve_path(Path(tempfile.mkdtemp(prefix="punchlist-child-")))
    for name in ("home", "tmp"):
        (folder / name).mkdir()
    (folder / "gitconfig").write_bytes(GITCONFIG)
    return folder


def encode_plan(
    sandbox: Sandbox, env: Mapping[str, str], scratch: Path, found: LandlockSupport
) -> bytes:
    """Return what the launcher reads."""
    open_network = found.namespaces or found.reaches_network(sandbox.kind)
    code = build_bare_filter(
        network=open_network,
        metadata=not _is_still(found, sandbox.kind),
        truncate=found.abi >= _TRUNCATE_SINCE,
    )
    plan = {
        "separate": found.namespaces and not sandbox.network,
        "mounts": _plan_mounts(sandbox, scratch) if found.mounts and not sandbox.network else None,
        "handled": list_handled(found.abi, network=open_network),
        "paths": list(list_rules(sandbox, env, scratch, found.abi, own_memory=found.mounts)),
        "filter": code.hex(),
        "env": _choose_environment(sandbox, env, scratch),
    }
    return json.dumps(plan).encode()


def _plan_mounts(sandbox: Sandbox, scratch: Path) -> dict[str, object]:
    writable = [str(path) for path in list_writable(sandbox, scratch) if path_exists(path)]
    return {
        "writable": writable,
        "shared_memory": str(SHARED_MEMORY),
        "size": choose_tmp_size(sandbox),
    }


def _is_still(found: LandlockSupport, kind: ChildKind) -> bool:
    """Return whether a child changes no modes and times: of its own files it need not."""
    return kind is ChildKind.ANALYZER and found.filtered


def _choose_environment(sandbox: Sandbox, env: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Return the variables of a home and a folder for temporary files that it can write to."""
    own = list_writable(sandbox, scratch)
    chosen = {
        name: str(scratch / "gitconfig") for name in ("GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL")
    }
    for name, folder in (("HOME", "home"), ("TMPDIR", "tmp")):
        given = Path(env.get(name, "/nonexistent"))
        kept = any(given.is_relative_to(each) for each in own)
        if not kept and not (name == "HOME" and sandbox.kind is ChildKind.HOOK):
            chosen[name] = str(scratch / folder)
    return chosen
