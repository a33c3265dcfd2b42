"""Which files a check read, and what its Python can import."""

from collections.abc import Iterable

from msgspec import Struct


class Loads(Struct, frozen=True, omit_defaults=True):
    """What one run of a check loaded of the tree; empty if it runs no Python.

    `files`: each file with those that read or import it; '' is the test runner itself. `modules`:
    each module with its file, '' if that is outside the tree. `roots`: folders that modules are
    imported from.
    """

    files: dict[str, tuple[str, ...]] = {}
    modules: dict[str, str] = {}
    roots: tuple[str, ...] = ()


def join_loads(parts: Iterable[Loads]) -> Loads:
    """Join what several processes or checks loaded."""
    files: dict[str, tuple[str, ...]] = {}
    modules: dict[str, str] = {}
    roots: dict[str, None] = {}
    for part in parts:
        for path, readers in part.files.items():
            files[path] = tuple(dict.fromkeys((*files.get(path, ()), *readers)))
        modules |= {name: file for name, file in part.modules.items() if not modules.get(name)}
        roots |= dict.fromkeys(part.roots)
    return Loads(files, modules, tuple(roots))
