"""Watch which files of the tree the Python processes of a check load."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from punchlist.adapters.checks.junit import read_untrusted
from punchlist.model.checks.loads import Loads, join_loads
from punchlist.model.finding.guarded_text import parse_json

_CHILD = Path(__file__).with_name("child_loads.py")
"""Only run in the check's own interpreter."""
_LIMIT = 20_000_000
_PROCESSES = 64


def prepare_watch(folder: Path, root: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Write the watcher into `folder`; return an environment in which Python runs it."""
    folder.mkdir()
    shutil.copyfile(_CHILD, folder / "sitecustomize.py")
    paths = f"{folder}:{env['PYTHONPATH']}" if env.get("PYTHONPATH") else str(folder)
    return {**env, "PYTHONPATH": paths, "PUNCHLIST_ROOT": str(root)}


def read_loads(folder: Path) -> Loads:
    """Return what the processes noted; nothing of those that wrote nothing readable."""
    found: list[Loads] = []
    for file in sorted(folder.glob("loads-*.json"))[:_PROCESSES]:
        try:
            found.append(parse_json(read_untrusted(file, _LIMIT), Loads))
        except (OSError, msgspec.MsgspecError):
            continue
    return join_loads(found)
