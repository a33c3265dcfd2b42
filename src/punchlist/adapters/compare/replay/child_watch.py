"""Note what code asks about the process that it is in.

Copied beside the script that calls it, and run in the project's own Python: it imports nothing of
punchlist and uses nothing newer than Python 3.8.
"""

from __future__ import annotations

import os
import sys
import types

TYPE_CHECKING = False  # typing takes long to import
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

GET_FRAME = sys._getframe  # noqa: SLF001  # as inspect does, which takes long to import


class Watch:
    """Notes what the called code asks about the process that it is in."""

    asking = frozenset(
        "modules argv orig_argv meta_path path_hooks gettrace getprofile settrace setprofile"
        " _getframe _current_frames __dict__".split()
    )
    events = frozenset(
        "sys._getframe sys._current_frames sys.setprofile sys.settrace sys.addaudithook"
        " gc.get_objects gc.get_referrers gc.get_referents ctypes.dlopen".split()
    )
    frames = ("tb_frame", "gi_frame", "cr_frame", "f_code")
    handing_on = ("inspect", "traceback", "operator", "functools", "importlib", __name__)

    def __init__(self, here: Path) -> None:
        self.asked: set[str] = set()
        self.here, self.root, self.busy = str(here), "", True

    def install(self, root: str) -> None:
        """Hear of what is asked from now on; nothing of it can be undone by the called code."""
        self.root, self.busy = root.rstrip(os.sep) + os.sep, False
        sys.addaudithook(self.hear)
        note, asking, read = self.note, self.asking, types.ModuleType.__getattribute__

        def look_up(module: types.ModuleType, name: str) -> Any:
            if name in asking:
                note("sys." + name)
            return read(module, name)

        sys.__class__ = type("module", (types.ModuleType,), {"__getattribute__": look_up})

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        if self.busy:
            return
        if event in self.events:
            self.note(event)
        elif event in ("open", "os.listdir", "os.scandir"):
            path = args[0] if args and isinstance(args[0], str) else ""
            if path.startswith(("/proc", self.here)):
                self.note("/proc" if path.startswith("/proc") else "os.listdir")
        elif event == "object.__getattr__" and args[1] in self.frames:
            self.note(args[1])

    def note(self, what: str) -> None:
        """Note a question if it comes from the code under review, maybe by way of a library that
        answers such questions.
        """
        if self.busy:
            return
        self.busy = True
        try:
            frame: types.FrameType | None = GET_FRAME()
            while frame is not None and self.hands_on(frame):
                frame = frame.f_back
            if frame is not None and frame.f_code.co_filename.startswith(self.root):
                self.asked.add(what)
        finally:
            self.busy = False

    def hands_on(self, frame: types.FrameType) -> bool:
        file = frame.f_code.co_filename
        made = file.startswith("<") and not file.startswith("<frozen")
        return made or frame.f_globals.get("__name__") in self.handing_on
