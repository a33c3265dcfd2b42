"""Parse Python source; no other module calls `ast.parse`."""

import ast
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_ONE_AT_A_TIME = threading.Lock()
"""Python up to 3.11.7 and 3.12.1 raises SystemError if two trees are made at the same time."""
_TOO_DEEP = (RecursionError, MemoryError)
_UNREADABLE = (SyntaxError, ValueError, *_TOO_DEEP)
_DEEPEST = 200
"""Levels of a syntax tree: the functions of `ast` that print or change trees recurse."""


def parse_python(text: str) -> ast.Module | None:
    """Return the syntax tree of a module, or None if the text does not parse or is nested too
    deeply.
    """
    with suppress(*_UNREADABLE), _hold_lock():
        tree = ast.parse(text)
        return None if _is_too_deep(tree) else tree
    return None


def parse_expression(text: str) -> ast.expr | None:
    """Return the syntax tree of one expression, or None if the text does not parse or is nested too
    deeply.
    """
    with suppress(*_UNREADABLE), _hold_lock():
        tree = ast.parse(text.lstrip(" \t"), mode="eval").body
        return None if _is_too_deep(tree) else tree
    return None


def syntax_error(text: str, path: str) -> str:
    """Return why the text is not a Python module, or an empty string."""
    try:
        with _hold_lock():
            ast.parse(text, path)
    except _TOO_DEEP:
        return "nested too deeply"
    except (SyntaxError, ValueError) as error:
        return str(error)
    return ""


def _is_too_deep(tree: ast.AST) -> bool:
    level = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


@contextmanager
def _hold_lock() -> Iterator[None]:
    """Hold the lock, and ignore Python's warnings about the source."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
