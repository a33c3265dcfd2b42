"""The path of the state folder is not sent to clients."""

import os
from pathlib import Path

import msgspec
from markupsafe import escape

HIDDEN = b"PUNCHLIST_HOME"
"""What stands for the state folder's path in everything that goes out."""


class PathMasker:
    """Replaces the state folder's path in responses."""

    def __init__(self, home: Path) -> None:
        paths = {os.fsencode(home), os.fsencode(home.resolve())}
        spelled = {
            msgspec.json.encode(os.fsdecode(path).encode(errors="replace").decode())[1:-1]
            for path in paths
        }
        in_pages = {
            str(escape(os.fsdecode(path).encode(errors="replace").decode())).encode()
            for path in paths
        }
        self._paths = sorted(paths | spelled | in_pages, key=len, reverse=True)

    def __call__(self, content: bytes) -> bytes:
        for path in self._paths:
            content = content.replace(path, HIDDEN)
        return content
