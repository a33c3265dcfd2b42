"""A folder of files as a tree, and the code most of them hold."""

from pathlib import Path

CODE = "import os\n\n\ndef search(name):\n    query = 'é' + name\n    return run(query)\n"


class Folder:
    """A tree without git: what a reader needs of one."""

    commit = "c" * 40

    def __init__(self, root: Path) -> None:
        self.root = root

    def text(self, path):
        file = self.root / path
        return file.read_bytes().decode("utf-8", "surrogateescape") if file.is_file() else None

    def files(self):
        return sorted(
            str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()
        )
