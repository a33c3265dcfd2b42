"""Find the files of a repository that a Python or JavaScript file imports, and those files'."""

import ast
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from itertools import accumulate
from posixpath import dirname, join, normpath

from punchlist.adapters.analyzers.configuration.parse import UnusableConfigurationError
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.python_source import parse_python

Read = Callable[[str], Awaitable[str]]
ROOTS = ("", "src", "lib", "python")
"""Folders of a repository that its Python modules are imported from."""
_SPECIFIER = late_pattern(
    r"""(?:\bfrom|\bimport|\brequire|\bresolve)\s*\(?\s*["'`](?P<path>\.[^"'`\n]*)"""
)


async def list_python_imports(
    starts: Iterable[str], known: Collection[str], read: Read
) -> list[str]:
    """Return these Python files and all that they import of the repository, in order."""
    found = list(dict.fromkeys(starts))
    folders = tuple(dict.fromkeys((*map(dirname, found), *ROOTS)))
    for path in found:  # grows along
        names = _list_modules(parse_python(await read(path)), path) if path.endswith(".py") else ()
        for folder, module in names:
            places = (folder,) if folder is not None else folders
            files = (each for place in places for each in find_module(place, module, known))
            found += (each for each in dict.fromkeys(files) if each not in found)
    return found


def find_module(folder: str, module: str, known: Collection[str]) -> Iterator[str]:
    """Yield the module's file and those of the packages that it is in, if the folder has it."""
    parts = list(accumulate(module.split("."), join, initial=folder))[1:] if module else [folder]
    inits = [f"{part}/__init__.py".lstrip("/") for part in parts]
    files = [f"{parts[-1]}.py", *inits] if parts[-1] else inits
    yield from (each for each in files if each in known)


def _list_modules(tree: ast.Module | None, path: str) -> Iterator[tuple[str | None, str]]:
    """Yield each imported module with the folder that it is relative to, None if to none."""
    for node in ast.walk(tree) if tree else ():
        match node:
            case ast.Import():
                yield from ((None, alias.name) for alias in node.names)
            case ast.ImportFrom():
                folder = (
                    None
                    if not node.level
                    else normpath(join(dirname(path), *[".."] * (node.level - 1)))
                )
                folder = "" if folder == "." else folder
                base = node.module or ""
                yield folder, base
                yield from ((folder, f"{base}.{alias.name}".strip(".")) for alias in node.names)


async def list_script_imports(
    starts: Iterable[str], known: Collection[str], read: Read
) -> list[str]:
    """Return patterns of these JavaScript files and of all that they import by relative paths,
    with every file that could be taken for one of them.
    """
    paths = list(dict.fromkeys(starts))
    patterns = [f"/{path}" for path in paths]
    for path in paths:  # grows along
        for found in _SPECIFIER.finditer(await read(path)):
            target = normpath(join(dirname(path), found["path"].split("?")[0]))
            if target.startswith(".."):
                raise UnusableConfigurationError(
                    f"{path} loads {found['path']}, outside of the repository"
                )
            stem = re.sub(r"\.[cm]?[jt]sx?$", "", target) if target != "." else "index"
            patterns += (f"/{target}", f"/{stem}.*", f"/{stem}/**")
            near = (
                each for each in known if each.startswith((f"{stem}.", f"{stem}/")) or each == stem
            )
            paths += (each for each in near if each not in paths)
    return list(dict.fromkeys(patterns))
