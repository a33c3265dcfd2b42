"""Compact JSON of the ledger, for any text: odd bytes are lone surrogates."""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import msgspec

from punchlist.model.finding.guarded_text import nested_too_deeply
from punchlist.model.finding.late_pattern import late_pattern

T = TypeVar("T")

# JSON has no lone surrogates: each becomes a mark and a private-use twin of it. A mark in the text
# itself is doubled.
_MARK = "\U0010f8ff"
_MARK_BYTES = _MARK.encode()
_SHIFT = 0x100000
_OUT = late_pattern("[\ud800-\udfff\U0010f8ff]")
_BACK = late_pattern("\U0010f8ff([\U0010d800-\U0010dfff\U0010f8ff])")


def encode(value: object) -> bytes:
    """Encode as compact JSON; the same value gives the same bytes."""
    with suppress(UnicodeEncodeError):
        raw = msgspec.json.encode(value)
        if _MARK_BYTES not in raw:
            return raw
    plain = msgspec.to_builtins(value, str_keys=True)
    return msgspec.json.encode(_map_texts(plain, escape_text))


def decode(raw: bytes, type_: type[T]) -> T:
    """Decode the bytes of `encode`; raise msgspec.MsgspecError on others."""
    try:
        if _MARK_BYTES not in raw:
            return msgspec.json.decode(raw, type=type_)
        plain = _map_texts(msgspec.json.decode(raw), unescape_text)
        return msgspec.convert(plain, type=type_, str_keys=True)
    except RecursionError as error:
        raise nested_too_deeply() from error


def escape_text(text: str) -> str:
    """Return the text without lone surrogates, for what takes only Unicode; see `unescape_text`."""
    return _OUT.sub(
        lambda match: _MARK + (_MARK if match[0] == _MARK else chr(ord(match[0]) + _SHIFT)), text
    )


def unescape_text(text: str) -> str:
    return _BACK.sub(
        lambda match: _MARK if match[1] == _MARK else chr(ord(match[1]) - _SHIFT), text
    )


def _map_texts(value: object, change: Callable[[str], str]) -> object:
    match value:
        case str():
            return change(value)
        case list() | tuple():
            return [_map_texts(each, change) for each in value]
        case dict():
            return {
                _map_texts(key, change): _map_texts(each, change) for key, each in value.items()
            }
        case _:
            return value
