"""Parse TOML, INI and JSON of unknown origin: what is too large or nested too deeply is refused,
before it can cost time, memory or the stack.
"""

import re
import tomllib
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.reading_limits import MEGABYTE, reading_limits

if TYPE_CHECKING:
    from configparser import RawConfigParser

T = TypeVar("T")

LARGEST = 8 * MEGABYTE
"""Characters of a configuration or lock file."""
_TOML_STRINGS = late_pattern(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5}|\Z)'
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*",
    re.DOTALL,
)
_KEY = late_pattern(r"(?<![\w.-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++)*+")
_ESCAPES = late_pattern(rb"\\.", re.DOTALL)
_KEPT = b'[]{}"'
_DROPPED = bytes(set(range(256)) - set(_KEPT))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1, ord('"'): 0}
FAILURES = (ValueError, RecursionError, MemoryError, OverflowError)
"""What parsers raise for bad text, besides errors of their own."""


class Unparsable(msgspec.DecodeError, ValueError):
    """The text cannot be parsed, or is larger or nested deeper than is read."""


def nested_too_deeply() -> Unparsable:
    return Unparsable(f"nested too deeply: over {reading_limits().nesting} levels")


def explain_failure(error: Exception) -> Unparsable:
    """Return the error of a parser as ours."""
    deep = isinstance(error, RecursionError | MemoryError)
    return nested_too_deeply() if deep else Unparsable(str(error))


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raise Unparsable."""
    refuse_large(text)
    bare = _TOML_STRINGS.sub(_replace_string, text)
    _refuse_deep(bare.encode("utf-8", "replace"))
    most = reading_limits().nesting
    if bare.count(".") > most and any(key.count(".") >= most for key in _KEY.findall(bare)):
        raise nested_too_deeply()
    try:
        return tomllib.loads(text)
    except FAILURES as error:
        raise explain_failure(error) from error


def find_toml(text: str | None) -> dict[str, Any]:
    """Return the tables of a TOML file; {} if it is missing, broken or refused."""
    try:
        return parse_toml(text) if text else {}
    except Unparsable:
        return {}


def parse_ini(text: str, *, strict: bool = False) -> "RawConfigParser":
    """Parse an INI file, without interpolation. Raise Unparsable; with `strict` also for a section
    or a key that is there twice.
    """
    from configparser import Error, RawConfigParser  # imported where a project has such a file

    refuse_large(text)
    parser = RawConfigParser(strict=strict)
    try:
        parser.read_string(text)
    except (Error, AttributeError, *FAILURES) as error:
        raise explain_failure(error) from error
    return parser


def find_ini(text: str | None) -> "RawConfigParser":
    """Return the sections of an INI file; none if it is missing, broken or refused."""
    try:
        return parse_ini(text or "")
    except Unparsable:
        return parse_ini("")


def parse_json(raw: bytes | str | msgspec.Raw, kind: type[T], *, strict: bool = True) -> T:
    """Decode JSON as this type. Raise msgspec.DecodeError if it is not JSON, is not of the type or
    is nested too deeply.
    """
    data = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else bytes(raw)
    refuse_deep_json(data)
    try:
        return msgspec.json.decode(data, type=kind, strict=strict)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(str(error)) from error
    except RecursionError as error:  # the caller has used up the stack itself
        raise nested_too_deeply() from error


def refuse_deep_json(data: bytes) -> None:
    """Raise Unparsable for JSON that is nested too deeply; the time grows with its size alone."""
    if data.count(b"[") + data.count(b"{") <= reading_limits().nesting:
        return
    plain = _ESCAPES.sub(b"", data) if b"\\" in data else data
    outside = plain.translate(None, _DROPPED).split(b'"')[::2]  # every other part is a string
    _refuse_deep(b"".join(outside))


def refuse_large(text: str) -> None:
    if len(text) > LARGEST:
        most = f"{LARGEST // MEGABYTE} million"
        raise Unparsable(f"too large: over {most} characters")


def _refuse_deep(data: bytes) -> None:
    """Raise Unparsable if brackets are nested too deeply."""
    brackets = data.translate(None, _DROPPED)
    most = reading_limits().nesting
    if len(brackets) > most and max(accumulate(map(_STEPS.__getitem__, brackets))) > most:
        raise nested_too_deeply()


def _replace_string(found: re.Match[str]) -> str:
    """Return a letter for a string, which may be a key, and nothing for a comment."""
    return "" if found[0].startswith("#") else "x"
