"""Finds JSON in an agent's answer; never raises, and takes linear time."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from punchlist.roles.answers.lenient_json import ParsedJson, parse_value

LIMIT = 10_000_000
"""Bytes of the longest answer that is read."""
_EFFORT = 4
"""How often a character may be read at most, so that time is linear for any text."""
_OPENING = re.compile(r"""\{(?=\s*+["}])|\[(?=\s*+[\]\["{\-\dtfnTFN])""")
"""A bracket that may begin a value, by what comes next."""
_ANSI = re.compile(
    r"\x1b(?:\[[0-9;:?<=>]{0,40}[ -/]?[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)|[@-Z\\^_])"
)
_HALVES = re.compile("[\ud800-\udfff]")
_ALOUD = re.compile(
    r"\s*<(think(?:ing)?|thought|reasoning)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_DEEPEST = 16
_MOST_STRAYS = 100_000
_SPACE = re.compile(r"\s*+")
_MARGIN = 200
"""Characters before a value that may belong to its line."""
_ENVELOPES = """
    structured_output structured_result structured output result results response answer input
    arguments args parameters params content text message messages data body payload value json item
    part parts function function_call tool_calls tool_use choices delta final review
""".split()
"""Keys under which tools put the answer, as an object or as JSON in a text."""

Fits = Callable[[object], bool]


class JsonAnswer(Struct, frozen=True):
    """The JSON in a text. `failed`: why there is none. `incomplete`: where it breaks off; complete
    parts are kept.
    """

    value: object = None
    failed: str = ""
    incomplete: str = ""
    strays: tuple[dict[str, Any], ...] = ()
    """Whole objects after an answer that breaks off, or without one: perhaps parts of it."""


def find_answer(text: str, fits: Fits) -> JsonAnswer:
    """Return the last value of the right shape, also one that breaks off but has content."""
    if len(text) > LIMIT or (not text.isascii() and len(text.encode("utf-8", "replace")) > LIMIT):
        return JsonAnswer(failed=f"the answer is longer than {LIMIT // 1_000_000} MB")
    plain = _strip_noise(text)
    if not plain.strip():
        return JsonAnswer(failed="the answer is empty")
    return _choose_last(plain, fits) or JsonAnswer(
        failed=f"there is no JSON in the answer, which begins with {_first_words(plain)!r}"
    )


def _choose_last(text: str, fits: Fits) -> JsonAnswer | None:
    """Return the last value that fits; None if the text has no JSON."""
    last: JsonAnswer | None = None
    broken, some = "", False
    strays: list[dict[str, Any]] = []
    for parse in find_values(text):
        some, broken = True, parse.broken
        fitting = _find_fitting(parse.value, fits, _DEEPEST)
        value = next((each for each in fitting if not broken or _has_content(each)), None)
        after_broken = last is not None and bool(last.incomplete)
        if value is not None and (broken or not after_broken or _is_standalone(text, parse)):
            last, strays = JsonAnswer(value, incomplete=broken), []
        elif isinstance(parse.value, dict) and not broken and (last is None or after_broken):
            strays += [parse.value] if len(strays) < _MOST_STRAYS else []
    if last is not None:
        return replace(last, strays=tuple(strays))
    why = f"no JSON in the answer has the shape that was asked for{broken and f' ({broken})'}"
    return JsonAnswer(failed=why, incomplete=broken, strays=tuple(strays)) if some else None


def _is_standalone(text: str, parse: ParsedJson) -> bool:
    """Return whether a value after a broken one is an answer, not a part of it or a quotation."""
    rest = _SPACE.match(text, parse.end)
    if rest and text[rest.end() : rest.end() + 1] in tuple(',]}"'):
        return False
    low = max(0, parse.start - _MARGIN)
    line = text.rfind("\n", low, parse.start) + 1
    own_line = (line or not low) and not text[line : parse.start].strip(" \t`")
    return bool(own_line) or _has_content(parse.value)


def find_values(text: str) -> Iterator[ParsedJson]:
    """Yield every top-level JSON object and list that is not empty, also broken ones."""
    at, reach, effort = 0, 0, _EFFORT * len(text)
    again: list[tuple[int, int]] = []
    while (start := _next_bracket(text, at, reach, again)) is not None:
        parse = parse_value(text, start)
        if parse.value:
            yield parse
        effort -= parse.read - start + len(again)
        at, reach = parse.end, max(reach, parse.end)
        if parse.broken and effort > 0 and parse.hidden:
            # After a quote in prose, what it took for texts may be JSON.
            again = [*(span for span in again if span[0] >= parse.end), *reversed(parse.hidden)]
            at = start + 1


def _next_bracket(text: str, at: int, reach: int, again: list[tuple[int, int]]) -> int | None:
    """Return the position of the next bracket to try, or None. Brackets inside a parsed value are
    skipped, except in the spans of `again`, a stack.
    """
    while again:
        low, high = again[-1]
        if opening := _OPENING.search(text, max(low, at), high):
            return opening.start()
        again.pop()
    opening = _OPENING.search(text, max(at, reach))
    return opening.start() if opening else None


def _strip_noise(text: str) -> str:
    """Remove byte order mark, colours and leading <think> blocks; replace lone surrogates."""
    plain = _HALVES.sub("\ufffd", text.removeprefix("\ufeff"))
    if "\x1b" in plain:
        plain = _ANSI.sub("", plain)
    at = 0
    while aloud := _ALOUD.match(plain, at):
        at = aloud.end()
    return plain[at:]


def _find_fitting(value: object, fits: Fits, depth: int) -> Iterator[object]:
    """Yield the value if it fits, else what fits inside its envelopes."""
    if fits(value):
        yield value
    elif depth:
        # JSON in a text in JSON halves the depth, so that no text is read more than a few times.
        deeper = depth // 2 if isinstance(value, str) else depth - 1
        for inner in _open_envelope(value):
            yield from _find_fitting(inner, fits, deeper)


def _open_envelope(value: object) -> Iterable[object]:
    """Return the values in an envelope; of a list or a text the last first."""
    match value:
        case dict():
            return [value[name] for name in _ENVELOPES if name in value]
        case list():
            return [each for each in reversed(value) if isinstance(each, dict | list)]
        case str() if "{" in value or "[" in value:
            return [parse.value for parse in reversed(list(find_values(value))) if not parse.broken]
        case _:
            return ()


def _has_content(value: object) -> bool:
    """Return whether it holds a text, number or boolean; '{"findings": [' alone only names the
    format.
    """
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, dict):
            stack += top.values()
        elif isinstance(top, list):
            stack += top
        elif top is not None and top != "":
            return True
    return False


def _first_words(text: str) -> str:
    said = " ".join(text[:400].split())
    return said if len(said) <= 80 else said[:79] + "…"  # one line of a terminal
