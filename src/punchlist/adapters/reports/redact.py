"""Remove secrets from all texts of a run before a report is made of it, as for issues."""

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.ledger.append_only import AppendOnlyList
from punchlist.model.ledger.run import Run
from punchlist.views.safe_text import remove_secrets

_SHORTEST = 8
"""No secret that the scan knows is shorter."""
_find_clean = lru_cache(maxsize=4096)(remove_secrets)
_last: list[tuple[Run, Run]] = []


def redact_run(run: Run) -> Run:
    """Return the run with every secret in its texts replaced by its kind. The last one is kept,
    because all reports of a run are made in turn.
    """
    for known, clean in _last:
        if known is run:
            return clean
    clean = _redact_value(run)
    _last[:] = [(run, clean)]
    return clean  # type: ignore[no-any-return]  # a run stays one


def _redact_value(value: Any) -> Any:
    """Return the value, or a copy of it in which texts are changed."""
    if isinstance(value, str):
        plain = len(value) < _SHORTEST or isinstance(value, Enum)
        return value if plain else _find_clean(value)
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        changed = {name: _redact_value(each) for name, each in fields.items()}
        changed = {name: each for name, each in changed.items() if each is not fields[name]}
        return replace(value, **changed) if changed else value
    if isinstance(value, tuple | frozenset):
        parts = [_redact_value(each) for each in value]
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else type(value)(parts)
    if isinstance(value, AppendOnlyList):
        parts = [_redact_value(each) for each in value]
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else AppendOnlyList(parts)
    if isinstance(value, Mapping):
        pairs = {_redact_value(key): _redact_value(each) for key, each in value.items()}
        return value if all(pairs.get(key) is each for key, each in value.items()) else pairs
    raise TypeError(f"{type(value).__name__} is not looked through for secrets")
