"""The table of payloads: what each plants in a repository, and the plain command that shows that it is alive.

A payload is a function with a name, a kind and a control. `load(FOLDER)` reads those of a folder of Python files:

    from beside_payload import payload

    @payload("core.fsmonitor", kind="git settings", control="git status")
    def fsmonitor(plant):
        plant.config(f"[core]\n\tfsmonitor = {plant.quoted}")
"""

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import beside_mark

ALL: dict[str, "Payload"] = {}
IGNORED = ".venv", "venv", "env", "node_modules", ".tox", ".nox", ".direnv"


@dataclass(frozen=True)
class Payload:
    name: str
    kind: str
    plant: Callable
    control: str | Callable | None = None
    """A command for a shell in the repository, or a function of the ground; None if the tool is not on this machine."""
    variables: Callable | None = None
    """A function of the repository: variables of the user's environment that a command gets besides."""


def payload(name, *, kind, control=None, variables=None):
    """Add the decorated function to the table; it gets a `Planter`."""

    def add(function):
        assert name not in ALL, f"two payloads are called {name}"
        ALL[name] = Payload(name, kind, function, control, variables)
        return function

    return add


def load(folder):
    """Run all Python files of a folder, which add their payloads to the table."""
    for path in sorted(Path(folder).glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"payloads_{path.stem}", path)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


GROUPS = (
    ("environment modules", "node", "analyzers' configuration", "project files", "git hooks"),
    ("environment programs", "shadowing modules", "git settings"),
)
"""Kinds that do not get in each other's way: they share a repository. All others have one of their own."""


def groups(words=()):
    """The kinds of each repository; with words, of those kinds that have one of them in their name."""
    kinds = list(dict.fromkeys(each.kind for each in ALL.values()))
    kinds = [kind for kind in kinds if not words or any(word in kind for word in words)]
    shared = [tuple(kind for kind in group if kind in kinds) for group in GROUPS]
    alone = [(kind,) for kind in kinds if not any(kind in group for group in GROUPS)]
    return [group for group in (*shared, *alone) if group]


@dataclass
class Planter:
    """Writes one payload into a repository that is being made."""

    world: object
    repo: Path
    name: str = ""
    later: list = field(default_factory=list)
    """What is written below .git once everything is committed: git itself would heed it before."""

    after: list = field(default_factory=list)
    """Functions of the repository, called once everything is committed."""
    gone: list = field(default_factory=list)
    """Files that are deleted at the end."""
    moved: list = field(default_factory=list)
    """Folders that are moved at the end: from, to, and the text of the file in its place."""

    @property
    def shell(self):
        return beside_mark.shell(self.world, self.name)

    @property
    def quoted(self):
        """The command as a value in a file of git's settings."""
        return '"' + self.shell.replace("\\", "\\\\").replace('"', '\\"') + '"'

    @property
    def python(self):
        return beside_mark.python(self.world, self.name)

    @property
    def javascript(self):
        return beside_mark.javascript(self.world, self.name)

    @property
    def ecmascript(self):
        return beside_mark.ecmascript(self.world, self.name)

    def script(self, then=""):
        return beside_mark.script(self.world, self.name, then)

    def elf(self, then=""):
        return beside_mark.elf(self.world, self.name, then) or self.script(then)

    def write(self, path, content="", mode=0o644):
        """Write a file of the checkout; one that is there already gets the text at its end."""
        target = self.repo / path
        target.parent.mkdir(parents=True, exist_ok=True)
        content = content if isinstance(content, bytes) else content.encode()
        with target.open("ab") as file:
            file.write(content)
        target.chmod(mode)

    def program(self, path, then="", *, native=False):
        """A program that leaves a mark, then becomes another one, so that nothing seems to be wrong."""
        self.write(path, self.elf(then) if native else self.script(then), 0o755)

    def link(self, path, target):
        (self.repo / path).parent.mkdir(parents=True, exist_ok=True)
        os.symlink(target, self.repo / path)

    def config(self, text):
        self.git_file("config", f"{text}\n")

    def git_file(self, path, content, mode=0o644):
        self.later.append((f".git/{path}", content, mode))

    def finish(self):
        for path, content, mode in self.later:
            self.write(path, content, mode)
        for path in self.gone:
            (self.repo / path).unlink()
        for path, target, text in self.moved:
            (self.repo / target).parent.mkdir(parents=True, exist_ok=True)
            (self.repo / path).rename(self.repo / target)
            self.write(path, text)
