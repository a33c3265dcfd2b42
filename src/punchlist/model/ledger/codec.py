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
_DEEPEST = 12
"""So deep are odd texts looked for part by part, which costs a pass for each level."""
_OUT = late_pattern("[\ud800-\udfff\U0010f8ff]")
_BACK = late_pattern("\U0010f8ff([\U0010d800-\U0010dfff\U0010f8ff])")


def encode(value: object) -> bytes:
    """Encode as compact JSON; the same value gives the same bytes."""
    known = _encode_plain(value)
    if known is not None:
        return known
    return msgspec.json.encode(_escape_part(msgspec.to_builtins(value, str_keys=True)))


def decode(raw: bytes, type_: type[T]) -> T:
    """Decode the bytes of `encode`; raise msgspec.MsgspecError on others."""
    try:
        if _MARK_BYTES not in raw:
            return msgspec.json.decode(raw, type=type_)
        return msgspec.convert(_decode_part(raw.strip()), type=type_, str_keys=True)
    except RecursionError as error:
        raise nested_too_deeply() from error


def _encode_plain(value: object) -> bytes | None:
    """Return the JSON of a value without texts that must be escaped, else None."""
    with suppress(UnicodeEncodeError):
        raw = msgspec.json.encode(value)
        return None if _MARK_BYTES in raw else raw
    return None


def _escape_part(value: object, depth: int = 0) -> object:
    """Escape the texts; one odd text among the items of a run costs no look at those of others."""
    if depth == _DEEPEST:
        return _map_texts(value, escape_text)
    if (known := _encode_plain(value)) is not None:
        return msgspec.Raw(known)
    match value:
        case str():
            return escape_text(value)
        case list() | tuple():
            return [_escape_part(each, depth + 1) for each in value]
        case dict():
            return {escape_text(key): _escape_part(each, depth + 1) for key, each in value.items()}
        case _:
            return value


def _decode_part(raw: bytes, depth: int = 0) -> object:
    """Decode JSON, and take apart only what has the mark in it."""
    if _MARK_BYTES not in raw:
        return msgspec.json.decode(raw)
    match raw[:1]:
        case b"[" if depth < _DEEPEST:
            parts = msgspec.json.decode(raw, type=list[msgspec.Raw])
            return [_decode_part(bytes(each), depth + 1) for each in parts]
        case b"{" if depth < _DEEPEST:
            fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
            return {
                unescape_text(key): _decode_part(bytes(each), depth + 1)
                for key, each in fields.items()
            }
        case _:
            return _map_texts(msgspec.json.decode(raw), unescape_text)


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
