"""Note, in the project's own Python, which files of the tree are read and by which other file."""
# ruff: noqa: PTH100, PTH114, PTH118, PTH120, PTH123, SLF001  # few imports: Python loads this as
# `sitecustomize`, before anything of the project (see watch_loads).

from __future__ import annotations

import atexit
import os
import sys

TYPE_CHECKING = False  # typing takes long to import
if TYPE_CHECKING:
    from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.environ.get("PUNCHLIST_ROOT", "/nonexistent"))
MOST = 20_000
readers: dict[str, list[str]] = {}
known: dict[str, str] = {}
folders: dict[str, str] = {}


def below(path: str) -> str:
    """Return a path relative to the tree, '' if it is outside."""
    if path not in known:
        full = resolve(path) if path[:1] != "<" else ""
        known[path] = os.path.relpath(full, ROOT) if full.startswith(ROOT + os.sep) else ""
    return known[path]


def resolve(path: str) -> str:
    """Return the path without links; each folder is looked at once, as most files share theirs."""
    if ".." in path:
        return os.path.realpath(path)
    folder, name = os.path.split(os.path.abspath(path))
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    full = os.path.join(folders[folder], name)
    return os.path.realpath(full) if os.path.islink(full) else full


def note(event: str, args: tuple[Any, ...]) -> None:
    if event != "open" or not isinstance(args[0], str) or len(readers) >= MOST:
        return
    if (args[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or not (path := below(args[0])):
        return
    frame: Any = sys._getframe().f_back  # None when Python opens the program's own script
    while frame is not None and not below(frame.f_code.co_filename):
        if frame.f_code.co_filename.endswith("linecache.py"):
            return  # the source is only shown, in a traceback or a warning
        frame = frame.f_back
    reader = below(frame.f_code.co_filename) if frame is not None else ""
    known_readers = readers.setdefault(path, [])
    if reader not in known_readers:
        known_readers.append(reader)


def write() -> None:
    import json

    modules = dict.fromkeys(sys.stdlib_module_names, "")
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and (below(file) or "." not in name):
            modules[name] = below(file)
    full = (os.path.realpath(each or ".") for each in sys.path)
    roots = ["" if each == ROOT else below(each) for each in full if each == ROOT or below(each)]
    seen = {"files": readers, "modules": modules, "roots": roots}
    with open(os.path.join(HERE, f"loads-{os.getpid()}.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(seen))


def start() -> None:
    """Start, and let the project's own `sitecustomize` run, which this file stands before.

    Without one the ImportError goes to Python's `site`, which expects it and prints nothing.
    """
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) != HERE]
    sys.modules.pop("sitecustomize", None)
    try:
        __import__("sitecustomize")
    finally:
        atexit.register(write)
        sys.addaudithook(note)


if __name__ == "sitecustomize":
    start()
