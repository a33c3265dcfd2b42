"""The reference page of settings, made from the structs that settings are read into."""

import ast
import inspect
from collections.abc import Iterator
from enum import Enum
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Struct

from punchlist.settings import Settings

_HEAD = """\
# Settings

Set them in the user's file, in the repository's `.punchlist.toml`, in the environment or with `--set KEY=VALUE`;
[the guide](../guides/settings.md) says which wins and when the repository's file counts. `punchlist doctor --settings` prints
what holds here, and where each value came from.
"""
_MANY = {str: "texts", int: "numbers"}
_PLAIN = {str: "text", int: "a whole number", float: "a number", bool: "`true`, `false`"}
_LONG = 60


def lines() -> Iterator[str]:
    yield from _HEAD.splitlines()
    yield from _group(Settings, "")


def _group(kind: type[Struct], path: str) -> Iterator[str]:
    """One table of a struct's own settings, then its sub-tables."""
    fields = msgspec.structs.fields(kind)
    said = _said(kind)
    if path:
        yield from ("", f"## {path}")
    if path and kind.__doc__:
        yield from ("", " ".join(kind.__doc__.split()))
    yield from ("", "| setting | values | default | |", "|---|---|---|---|")
    prefix = "" if path.startswith("[[") or not path else f"{path}."
    for field in fields:
        if not _is_struct(field.type):
            yield (
                f"| `{prefix}{field.encode_name}` | {_values(field.type)} | {_default(field)} |"
                f" {said.get(field.name, '')} |"
            )
    for field in fields:
        inner = _inside(field.type)
        if _is_struct(field.type):
            yield from _group(field.type, f"{prefix}{field.encode_name}")
        elif inner is not None:
            yield from _group(inner, f"[[{prefix}{field.encode_name}]]")


def _said(kind: type[Struct]) -> dict[str, str]:
    """What the source says of each field, in the string below it."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    found: dict[str, str] = {}
    name = ""
    for node in getattr(body, "body", []):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
        elif name and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found[name] = " ".join(str(node.value.value).split())
    return found


def _values(kind: Any) -> str:
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(f"`{each.value}`" for each in kind)
    if get_origin(kind) is Literal:
        return ", ".join(f"`{each}`" for each in get_args(kind))
    if get_origin(kind) is tuple:
        return "tables" if _inside(kind) else f"a list of {_MANY[get_args(kind)[0]]}"
    if get_origin(kind) is dict:
        return f"a table, each entry {_values(get_args(kind)[1])}"
    return " or ".join(_values(option) for option in get_args(kind)) or "text"


def _default(field: Any) -> str:
    if field.default is NODEFAULT:
        return "none: it must be set" if field.default_factory is NODEFAULT else "none"
    value = field.default
    if value in ((), "", {}):
        return "none"
    shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return (
        f"`{shown.removesuffix('.0').lower()}`" if len(shown) < _LONG else f"{len(value)} patterns"
    )


def _inside(kind: Any) -> type[Struct] | None:
    inner = get_args(kind)[0] if get_origin(kind) is tuple else None
    return inner if _is_struct(inner) else None


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)
