"""JSON in what an agent says, wherever it stands: never an exception, in time that is linear in the
text.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from punchlist.roles.answers.lenient_json import Parse, parsed

LIMIT = 10_000_000
"""Bytes of the longest answer that is read."""
_EFFORT = 4
"""How often a character may be read at most: what is tried twice is bounded, so that time is linear
whatever stands there.
"""
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
"""Where tools put the thing that was asked for, one or more levels down, as an object or as JSON in
a text.
"""

Fits = Callable[[object], bool]


class Found(Struct, frozen=True):
    """The answer in a text. `failed` says why there is none; `incomplete` where it breaks off: what
    was complete is there.
    """

    value: object = None
    failed: str = ""
    incomplete: str = ""
    strays: tuple[dict[str, Any], ...] = ()
    """Whole objects that stand alone after an answer that breaks off, or where there is none: parts
    of it, perhaps.
    """


def found(text: str, fits: Fits) -> Found:
    """The last value of the right shape. One that breaks off counts too if it says anything: the
    draft before it is no answer.
    """
    if len(text) > LIMIT or (not text.isascii() and len(text.encode("utf-8", "replace")) > LIMIT):
        return Found(failed=f"the answer is longer than {LIMIT // 1_000_000} MB")
    plain = _plain(text)
    if not plain.strip():
        return Found(failed="the answer is empty")
    return _chosen(plain, fits) or Found(
        failed=f"there is no JSON in the answer, which begins with {_start(plain)!r}"
    )


def _chosen(text: str, fits: Fits) -> Found | None:
    """The last value that fits, among all there are; None where there are none at all."""
    last: Found | None = None
    broken, some = "", False
    strays: list[dict[str, Any]] = []
    for parse in values(text):
        some, broken = True, parse.broken
        value = next(
            (
                each
                for each in _inside(parse.value, fits, _DEEPEST)
                if not broken or _says_something(each)
            ),
            None,
        )
        after_broken = last is not None and bool(last.incomplete)
        if value is not None and (broken or not after_broken or _stands_alone(text, parse)):
            last, strays = Found(value, incomplete=broken), []
        elif (
            isinstance(parse.value, dict)
            and not broken
            and (last is None or after_broken)
            and len(strays) < _MOST_STRAYS
        ):
            strays.append(parse.value)
    if last is not None:
        return replace(last, strays=tuple(strays))
    why = f"no JSON in the answer has the shape that was asked for{broken and f' ({broken})'}"
    return Found(failed=why, incomplete=broken, strays=tuple(strays)) if some else None


def _stands_alone(text: str, parse: Parse) -> bool:
    """Whether a whole value behind one that broke off is an answer of its own, and not a part of
    that or a quotation in it.
    """
    rest = _SPACE.match(text, parse.end)
    if rest and text[rest.end() : rest.end() + 1] in tuple(',]}"'):
        return False
    low = max(0, parse.start - _MARGIN)
    line = text.rfind("\n", low, parse.start) + 1
    own_line = (line or not low) and not text[line : parse.start].strip(" \t`")
    return bool(own_line) or _says_something(parse.value)


def values(text: str) -> Iterator[Parse]:
    """Every JSON object and list that stands in the text by itself and has anything in it, also
    those that break off.
    """
    at, reach, effort = 0, 0, _EFFORT * len(text)
    again: list[tuple[int, int]] = []
    while (start := _next(text, at, reach, again)) is not None:
        parse = parsed(text, start)
        if parse.value:
            yield parse
        effort -= parse.read - start + len(again)
        at, reach = parse.end, max(reach, parse.end)
        if parse.broken and effort > 0 and parse.hidden:
            # What it took for texts may be what was meant: a quote in prose turns everything inside
            # out.
            again = [*(span for span in again if span[0] >= parse.end), *reversed(parse.hidden)]
            at = start + 1


def _next(text: str, at: int, reach: int, again: list[tuple[int, int]]) -> int | None:
    """Where the next bracket is. Those that were met inside a value are not tried again: they break
    off where that does. The next span to be looked at again is at the end of the list, where it is
    cheap to take off.
    """
    while again:
        low, high = again[-1]
        if opening := _OPENING.search(text, max(low, at), high):
            return opening.start()
        again.pop()
    opening = _OPENING.search(text, max(at, reach))
    return opening.start() if opening else None


def _plain(text: str) -> str:
    """Without marks, colours, half characters and what was thought aloud before the answer."""
    plain = _HALVES.sub("\ufffd", text.removeprefix("\ufeff"))
    if "\x1b" in plain:
        plain = _ANSI.sub("", plain)
    at = 0
    while aloud := _ALOUD.match(plain, at):
        at = aloud.end()
    return plain[at:]


def _inside(value: object, fits: Fits, depth: int) -> Iterator[object]:
    """The value itself if it fits, or what fits in the envelopes it consists of."""
    if fits(value):
        yield value
    elif depth:
        # JSON in a text in JSON: each level halves the depth, so that no text is read more than a
        # few times.
        deeper = depth // 2 if isinstance(value, str) else depth - 1
        for inner in _contents(value):
            yield from _inside(inner, fits, deeper)


def _contents(value: object) -> Iterable[object]:
    """What is in an envelope; of a list or a text the last first."""
    match value:
        case dict():
            return [value[name] for name in _ENVELOPES if name in value]
        case list():
            return [each for each in reversed(value) if isinstance(each, dict | list)]
        case str() if "{" in value or "[" in value:
            return [parse.value for parse in reversed(list(values(value))) if not parse.broken]
        case _:
            return ()


def _says_something(value: object) -> bool:
    """Whether there is a text, a number or a yes anywhere in it; '{"findings": [' alone is a way of
    speaking about the format.
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


def _start(text: str) -> str:
    said = " ".join(text[:400].split())
    return said if len(said) <= 80 else said[:79] + "…"  # one line of a terminal
