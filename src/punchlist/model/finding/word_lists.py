"""Read lists of words from a TOML file that stands beside a module."""

import tomllib
from functools import cache
from pathlib import Path


@cache
def load_words(module: str, file: str) -> dict[str, tuple[str, ...]]:
    """Return by key the words of each text in `file`; `module` is the `__file__` beside it."""
    texts = tomllib.loads(Path(module).with_name(file).read_text("utf-8"))
    return {key: tuple(text.split()) for key, text in texts.items()}


@cache
def load_word_tables(module: str, file: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return by table and key the words of each text in `file`, as `load_words` does."""
    tables = tomllib.loads(Path(module).with_name(file).read_text("utf-8"))
    return {
        name: {key: tuple(text.split()) for key, text in table.items()}
        for name, table in tables.items()
    }
