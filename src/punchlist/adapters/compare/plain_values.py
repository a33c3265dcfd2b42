"""Values to try: plain ones of every type, and neighbours of given ones."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from punchlist.adapters.compare.examples import Value, parse_literals

INTS = (0, 1, -1, 2, 3, 4, 5, 7, 10, 12, -2, 100, 13, 60, 99, 255, 1000, -10, 2**31, 10**12)
FLOATS = (0.0, 1.0, 0.5, -0.5, 1.5, 2.5, 0.1, 2.675, -1.0, 3.14159, 100.0, 99.99, 1e-9, 1e9)
BYTES = (b"", b"a", b"abc", b"\x00\xff", b"hello world")
_DIGITS = re.compile(r"\d+")
_SEPARATORS = (" ", ",", "-", "_", ".", "/", ":", ";", "\n")


def neighbours(value: Value) -> Iterator[Value]:
    """Yield similar values: one more or less, one part added or removed, other case or order."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1, -value, value * 2, value // 2, value * 10)
        case float():
            yield from (value + 1, value - 1, -value, value * 2, value / 2)
            yield from (value + 0.005, value * 10)
        case str():
            yield from _near_text(value)
        case bytes():
            yield from (value + b"x", value[:-1], value[1:], value[::-1])
        case list():
            yield from _near_list(value)
        case tuple():
            yield from (tuple(near) for near in _near_list(list(value)))
        case set():
            nearby = _near_list(sorted(value, key=repr))
            yield from (set(near) for near in nearby if all(map(_is_hashable, near)))
        case dict():
            yield from _near_dict(value)
        case _:
            return


def _near_text(text: str) -> Iterator[str]:
    yield from (text[:-1], text[1:], f"{text} ", f" {text}")
    yield from (text.upper(), text.lower(), text.swapcase(), text + text, text[::-1])
    yield from (f"{text}x", f"x{text}", f"{text}1", f"{text}\n", f"{text}é")
    yield from (text.title(), f"-{text}")
    for separator in _SEPARATORS:
        if separator in text:
            yield text.replace(separator, separator * 2)
            yield text.replace(separator, "")
            yield separator + text
            yield text + separator
            yield separator.join(reversed(text.split(separator)))
    for found in _DIGITS.finditer(text):
        number = int(found[0][:12])
        for near in (number + 1, number - 1, number * 10, 0):
            yield text[: found.start()] + str(near).zfill(len(found[0])) + text[found.end() :]


def _near_list(values: list[Value]) -> Iterator[list[Value]]:
    yield from ([], values[:1], values[:-1], values[1:], values[::-1])
    yield from (values + values, values[:1] * 3)
    kinds = (int | float, str)
    if any(all(isinstance(each, kind) for each in values) for kind in kinds):
        yield sorted(values, key=lambda each: (str(type(each)), each))
    for at in range(min(len(values), 4)):
        for near in list(neighbours(values[at]))[:4]:
            yield [*values[:at], near, *values[at + 1 :]]
            yield [*values, near]


def _near_dict(values: dict[Value, Value]) -> Iterator[dict[Value, Value]]:
    yield {}
    for key, value in list(values.items())[:4]:
        yield {k: v for k, v in values.items() if k != key}
        for near in list(neighbours(value))[:4]:
            yield {**values, key: near}
        for near in list(neighbours(key))[:2]:
            if _is_hashable(near):
                yield {**values, near: value}


def _is_hashable(value: Value) -> bool:
    return not isinstance(value, list | dict | set)


def render_values(values: Iterable[Value]) -> list[str]:
    """Return the values as source, without duplicates."""
    return list(dict.fromkeys(map(_render_value, values)))


def render_neighbours(texts: Iterable[str], most: int) -> list[str]:
    """Return up to `most` neighbours of each literal in `texts`, as source."""
    literals = parse_literals(texts)
    return render_values(near for value in literals for near in islice(neighbours(value), most))


def _render_value(value: Value) -> str:
    text = repr(value)
    special = isinstance(value, float) and text in ("inf", "-inf", "nan")
    return f"float('{text}')" if special else text
