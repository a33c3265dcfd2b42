"""Names and values that inputs are made of; tables.toml says what each table is for."""

import tomllib
from importlib.resources import files

import msgspec
from msgspec import Struct

_Words = dict[str, tuple[str, ...]]


class Tables(Struct, frozen=True):
    impure: frozenset[str]
    safe: frozenset[str]
    decorators: frozenset[str]
    texts: tuple[str, ...]
    values: _Words
    annotations: _Words
    methods: _Words
    takers: _Words
    names: _Words


def invert(table: _Words) -> dict[str, str]:
    """Return the key of each word."""
    return {word: key for key, words in table.items() for word in words}


def _load() -> Tables:
    text = (files("punchlist.adapters.compare") / "tables.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Tables)


TABLES = _load()
