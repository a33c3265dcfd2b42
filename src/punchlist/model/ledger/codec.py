"""The one JSON of the ledger: compact, and able to carry text that is not Unicode (odd bytes, read
as surrogates).
"""

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

T = TypeVar("T")

# JSON has no place for a lone surrogate, so an odd byte of a file travels as a mark and a
# private-use twin of the surrogate. A mark in the text itself is doubled, so nothing is ever
# confused.
_MARK = "\U0010f8ff"
_MARK_BYTES = _MARK.encode()
_SHIFT = 0x100000
_OUT = re.compile("[\ud800-\udfff\U0010f8ff]")
_BACK = re.compile("\U0010f8ff([\U0010d800-\U0010dfff\U0010f8ff])")


def encode(value: object) -> bytes:
    """Compact JSON; the same value gives the same bytes."""
    try:
        raw = msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_each_text(msgspec.to_builtins(value, str_keys=True), _packed))
    if _MARK_BYTES in raw:
        return msgspec.json.encode(_each_text(msgspec.to_builtins(value, str_keys=True), _packed))
    return raw


def decode(raw: bytes, type_: type[T]) -> T:
    """What `encode` was given; raises msgspec.MsgspecError where the bytes are something else."""
    if _MARK_BYTES not in raw:
        return msgspec.json.decode(raw, type=type_)
    return msgspec.convert(
        _each_text(msgspec.json.decode(raw), _unpacked), type=type_, str_keys=True
    )


def _packed(text: str) -> str:
    return _OUT.sub(
        lambda match: _MARK + (_MARK if match[0] == _MARK else chr(ord(match[0]) + _SHIFT)), text
    )


def _unpacked(text: str) -> str:
    return _BACK.sub(
        lambda match: _MARK if match[1] == _MARK else chr(ord(match[1]) - _SHIFT), text
    )


def _each_text(value: object, change: Callable[[str], str]) -> object:
    match value:
        case str():
            return change(value)
        case list() | tuple():
            return [_each_text(each, change) for each in value]
        case dict():
            return {
                _each_text(key, change): _each_text(each, change) for key, each in value.items()
            }
        case _:
            return value
