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
        texts = {os.fsdecode(path).encode(errors="replace").decode() for path in paths}
        in_json = {msgspec.json.encode(text)[1:-1] for text in texts}
        in_pages = {str(escape(text)).encode() for text in texts}
        self._paths = sorted(paths | in_json | in_pages, key=len, reverse=True)

    def __call__(self, content: bytes) -> bytes:
        for path in self._paths:
            content = content.replace(path, HIDDEN)
        return content
