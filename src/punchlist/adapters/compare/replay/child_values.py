"""Write values as text, make similar ones, and ask what they claim to equal.

Copied beside the scripts that run in the project's own Python: it imports nothing of punchlist and
uses nothing newer than Python 3.8.
"""

from __future__ import annotations

import copy
import datetime as dt
import hashlib
import io
import operator
import os
import pickle
import random
import re
import types

TYPE_CHECKING = False  # typing takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Setter = Callable[[Any], None]

PLAIN = (bool, int, float, complex, str, bytes, type(None))
SEQUENCES = (list, tuple, set, frozenset, dict)
EMPTY = (int, float, str, bytes, *SEQUENCES)
"""Types whose call without arguments gives a limit case."""
DAYS = (dt.date, dt.datetime)
TOKEN = re.compile(r"[^\W\d_]+|\d+")
"""A word or a number inside of a text."""
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
STANDARD = frozenset("datetime decimal _decimal fractions uuid pathlib".split())
"""Modules of the standard library whose values show all they are in their text."""
DEPTH = 30
LONGEST = 400
OPAQUE = "<?"
"""Marks a part whose contents cannot be written."""
OWN_EQUALS: tuple[Any, ...] = tuple(kind.__eq__ for kind in (object, *PLAIN, *SEQUENCES))
FOREIGN = ("unittest", "pytest", "_pytest", "doctest")


def describe(value: Any, depth: int = 0, memo: dict[int, int] | None = None) -> str:
    """Return a value as text by its type and contents; no code of its own class is run."""
    memo = {} if memo is None else memo
    kind = type(value)
    if kind in PLAIN:
        return kind.__name__ + ":" + repr(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    if id(value) in memo or depth > DEPTH:
        return f"{name}#{memo.get(id(value), '')}"
    if not isinstance(value, (tuple, frozenset)):
        memo[id(value)] = len(memo)

    def part(each: Any) -> str:
        return describe(each, depth + 1, memo)

    for base in SEQUENCES:
        if isinstance(value, base):
            return name + describe_parts(value, base, part)
    if kind.__module__ in STANDARD:
        return name + "(" + repr(value) + ")"
    for scalar in PLAIN[1:6]:
        if isinstance(value, scalar):
            return name + "(" + scalar.__repr__(value) + ")" + describe_fields(value, part)
    return name + (describe_fields(value, part) or describe_foreign(value))


def describe_parts(value: Any, base: Any, part: Callable[[Any], str]) -> str:
    """Return what is in a collection; the order of a set says nothing."""
    if base is dict:
        parts = [part(key) + "=" + part(each) for key, each in dict.items(value)]
    elif base in (set, frozenset):
        parts = sorted(describe(each, DEPTH // 2) for each in base.__iter__(value))
    else:
        parts = [part(each) for each in base.__iter__(value)]
    return "[" + ", ".join(parts) + "]"


def describe_fields(value: Any, part: Callable[[Any], str]) -> str:
    """Return the attributes of an object, or '' if it has none of its own."""
    if isinstance(value, (type, types.ModuleType, types.FunctionType)):
        return ""
    try:
        fields = dict(object.__getattribute__(value, "__dict__"))
    except AttributeError:
        fields = {}
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            try:
                fields[slot] = object.__getattribute__(value, slot)
            except AttributeError:
                continue
    if isinstance(value, BaseException):
        fields["args"] = value.args
    pairs = [name + "=" + part(each) for name, each in sorted(fields.items())]
    return "<" + ", ".join(pairs) + ">" if pairs else ""


def describe_foreign(value: Any) -> str:
    """Return the text of an object that is not made of Python attributes, such as a date."""
    write: Any = type(value).__repr__
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        return OPAQUE + str(getattr(value, "__qualname__", "")) + ">"
    if isinstance(write, types.FunctionType):
        return ""
    if write is object.__repr__ or callable(value) or hasattr(type(value), "__next__"):
        return OPAQUE + ">"
    return "(" + ADDRESS.sub("", repr(value)) + ")"


def shorten(text: str, places: tuple[str, ...] = ()) -> str:
    """Return the text with the folders it was made in left out, and the middle of a long one."""
    here = os.getcwd()  # noqa: PTH109  # a Path takes longer, and calls are many
    for place in sorted({*places, here} - {"/", ""}, key=len, reverse=True):
        text = text.replace(place, "<here>")
    if len(text) <= LONGEST:
        return text
    mark = OPAQUE if OPAQUE in text else ""
    return text[: LONGEST // 2] + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() + mark


def name_call(module: str, name: str, args: str) -> str:
    """Return the key of a call."""
    text = module + "\n" + name + "\n" + args
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


class Careful(pickle.Unpickler):
    """Makes only classes of the project and of the standard library's plain values."""

    standard = frozenset(
        "builtins collections datetime decimal fractions uuid pathlib copyreg types array".split()
    )

    def __init__(self, data: bytes, modules: frozenset[str]) -> None:
        super().__init__(io.BytesIO(data))
        self.modules = modules

    def find_class(self, module: str, name: str) -> Any:
        known = module in self.modules or module in self.standard
        if not known or module.partition(".")[0] in FOREIGN:
            raise pickle.UnpicklingError(module)
        found = super().find_class(module, name)
        if not isinstance(found, type) and module != "copyreg":
            raise pickle.UnpicklingError(name)
        return found


def list_places(value: Any, put: Setter | None, seen: set[int]) -> Iterator[tuple[Any, Setter]]:
    """Yield every part of a value with a function that replaces it."""
    if put is not None:
        yield value, put
    if id(value) in seen or type(value) in PLAIN or callable(value):
        return
    seen.add(id(value))
    if type(value) is tuple and put is not None:
        for at, each in enumerate(value):
            yield from list_places(each, set_in_tuple(value, at, put), seen)
    holder = vars(value) if hasattr(value, "__dict__") else value
    if type(holder) in (list, dict):
        for key in range(len(holder)) if type(holder) is list else list(holder):
            yield from list_places(holder[key], set_in(holder, key), seen)


def set_in(holder: Any, key: Any) -> Setter:
    def put(new: Any) -> None:
        holder[key] = new

    return put


def set_in_tuple(value: tuple[Any, ...], at: int, put: Setter) -> Setter:
    return lambda new: put((*value[:at], new, *value[at + 1 :]))


def vary(args: list[Any], seed: str, literals: list[Any]) -> list[Any]:
    """Return similar arguments; the same seed gives the same ones."""
    chance = make_chance(seed)
    box = list(args)
    kinds = [at for at, each in enumerate(box) if type(each) in EMPTY]
    if kinds and chance.random() < 0.08:
        at = chance.choice(kinds)
        box[at] = type(box[at])()
        return box
    if chance.random() < 0.3:
        box = [enlarge(each, chance) for each in box]
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        seen: set[int] = set()
        parts = [list_places(box[at], set_in(box, at), seen) for at in range(len(box))]
        places = [place for found in parts for place in found]
        objects = [value for value, _ in places if hasattr(value, "__dict__")]
        usable = [place for place in places if place[0] is not None or objects]
        if usable:
            value, put = chance.choice(usable)
            put(vary_one(value, chance, literals, objects))
    return box


def make_chance(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311  # the same every time is the point


def make_alike(args: list[Any], seed: str) -> list[Any]:
    """Return arguments of the same shape: words and numbers replaced, each everywhere in the same
    way; one of them, some, or all by the same step. The same seed gives the same ones.
    """
    chance = make_chance(seed)
    found: dict[str, None] = {}
    for leaf in list_leaves(args):
        found.update(dict.fromkeys(TOKEN.findall(leaf)))
    tokens = sorted(found)
    way, step = chance.randrange(4), chance.randint(2, 30)
    some = [each for each in tokens if chance.random() < 0.5]
    few = [chance.choice(tokens)] if tokens else []
    new = {each: replace_token(each, step, chance) for each in (few, few, some, tokens)[way]}
    if way == 3:
        new = {each: shift_token(each, step) for each in tokens}

    def swap(text: str) -> str:
        return TOKEN.sub(lambda match: new.get(match.group(), match.group()), text)

    return [rebuild(each, swap) for each in args]


def replace_token(token: str, step: int, chance: random.Random) -> str:
    if token.isdigit():
        return str(int(token) + step) if chance.random() < 0.5 else str(int(token) * step)
    return shift_token(token, chance.randint(1, 25))


def shift_token(token: str, step: int) -> str:
    """Return a number plus the step, or a word with each letter so many places further on."""
    if token.isdigit():
        return str(int(token) + step)

    def shift(char: str) -> str:
        first = "a" if char.islower() else "A"
        return chr(ord(first) + (ord(char) - ord(first) + step) % 26) if char.isascii() else char

    return "".join(map(shift, token))


def rebuild(value: Any, swap: Callable[[str], str]) -> Any:
    """Return a copy with the text of each word and number swapped; other objects stay."""
    kind = type(value)
    if kind is str:
        return swap(value)
    if kind in (int, float, *DAYS):
        return rebuild_number(value, swap)
    if kind is dict:
        return {rebuild(key, swap): rebuild(each, swap) for key, each in value.items()}
    if kind in SEQUENCES:
        return kind(rebuild(each, swap) for each in value)
    return rebuild_object(value, swap) if has_fields(value) else value


def has_fields(value: Any) -> bool:
    """Return whether an object is made of attributes, and is no function, class or module."""
    return type(getattr(value, "__dict__", None)) is dict and not callable(value)


def rebuild_object(value: Any, swap: Callable[[str], str]) -> Any:
    twin = copy.copy(value)
    for name, each in list(vars(twin).items()):
        vars(twin)[name] = rebuild(each, swap)
    return twin


def rebuild_number(value: Any, swap: Callable[[str], str]) -> Any:
    """Return a number or a day of other numbers; the same where there is none."""
    try:
        if type(value) in DAYS:
            return type(value)(*map(int, re.findall(r"\d+", swap(value.isoformat()))))
        return type(value)(swap(repr(value)))
    except (ValueError, OverflowError, TypeError):
        return value


def vary_one(value: Any, chance: random.Random, literals: list[Any], objects: list[Any]) -> Any:
    """Return another value of the same type."""
    kind = type(value)
    known = [each for each in literals if type(each) is kind and each != value]
    if known and chance.random() < 0.15:
        return chance.choice(known)
    if kind in (bool, int, float, *DAYS):
        return vary_number(value, chance)
    if kind in (str, list, tuple, bytes):
        return vary_sequence(value, chance)
    if kind in (dict, set) and value:
        gone = chance.choice(sorted(value, key=repr))
        return {k: v for k, v in value.items() if k != gone} if kind is dict else value - {gone}
    if (value is None or hasattr(value, "__dict__")) and objects:
        return chance.choice([None, copy.copy(chance.choice(objects)), *objects])
    return value


def vary_number(value: Any, chance: random.Random) -> Any:
    if type(value) is bool:
        return not value
    if type(value) in DAYS:
        return value + dt.timedelta(days=chance.choice((-7, -2, -1, 1, 2, 3, 30)))
    if type(value) is float:
        near = (value + 1, value - 1, value * 2, value / 2, float(chance.randint(1, 9)))
        return chance.choice(near)
    far = value * chance.randint(2, 40) + 1 if abs(value) < 10**5 else value - 2
    beside = value + chance.randint(-9, 9)
    return chance.choice((value + 1, value - 1, beside, value * 2, value // 2, far))


def vary_sequence(value: Any, chance: random.Random) -> Any:
    """Return the sequence with a part removed, repeated, moved or doubled."""
    size, kind = len(value), type(value)
    if not size:
        count = range(chance.randint(1, 6))
        if kind is str:
            return "".join(chance.choice("abc() 01") for _ in count)
        return kind(chance.randint(0, 9) for _ in count)
    one, other = chance.randrange(size), chance.randrange(size)
    piece = value[other : other + 1]
    near = [value[:one] + value[one + 1 :], value[:one] + piece + value[one:], value[::-1]]
    near += [value[:one] + piece + value[one + 1 :], value + piece, value + value, value[:one]]
    near += [value[one:] + value[:one], value[:other] + value * 5 + value[other:]]
    return chance.choice(near)


def enlarge(value: Any, chance: random.Random) -> Any:
    """Return the same shape several times as long."""
    if type(value) in (str, list, tuple) and value:
        return value * chance.randint(2, 12)
    return value * chance.randint(1, 12) if type(value) is int else value


def make_probes(nonce: str, literals: list[Any]) -> list[Any]:
    """Return values of many types to compare an answer with."""
    numbers = [len(nonce) + 7**9, -(7**9), 1.5e9, 2.5e9, None, True, False]
    lists = [[nonce], [nonce, 1], [], (nonce,), (nonce, 1), {nonce: 1}, {nonce: 2}, {nonce}]
    return [nonce, nonce + "x", *numbers, *lists, *literals]


def claims_too_much(value: Any, probes: list[Any]) -> bool:
    """Return whether a value, or a part of it, equals two values that do not equal each other."""
    parts = [value]
    if type(value) in (list, tuple):
        parts += list(value)[:20]
    elif type(value) is dict:
        parts += list(value.values())[:20]
    return any(pleases_all(part, probes) for part in parts)


def pleases_all(part: Any, probes: list[Any]) -> bool:
    if type(part) in PLAIN or type(part).__eq__ in OWN_EQUALS:
        return False
    equal = [probe for probe in probes if holds(operator.eq, part, probe)]
    if any(not holds(operator.eq, equal[0], each) for each in equal):
        return True
    return any(holds(operator.lt, part, each) and holds(operator.gt, part, each) for each in probes)


def holds(compare: Callable[[Any, Any], Any], one: Any, other: Any) -> bool:
    try:
        return compare(one, other) is True
    except Exception:  # a comparison may fail in any way
        return False


def list_leaves(value: Any, found: list[str] | None = None, depth: int = 0) -> list[str]:
    """Return up to 20 plain values inside a value, as text."""
    found = [] if found is None else found
    if type(value) in PLAIN:
        found.append(value if type(value) is str else repr(value))
    elif type(value) in DAYS:
        found.append(value.isoformat())
    elif type(value) in SEQUENCES and depth < 6:
        for each in value.items() if type(value) is dict else value:
            if len(found) < 20:
                list_leaves(each, found, depth + 1)
    elif has_fields(value) and depth < 6:
        list_leaves(list(vars(value).values()), found, depth + 1)
    return found


def is_limit(value: Any) -> bool:
    """Return whether a value is one that honest code often treats apart: empty, none, 0, 1."""
    if type(value) in (str, bytes):
        return not value.strip()
    if type(value) in SEQUENCES:
        return not value
    small = type(value) in (int, float) and value in (-1, 0, 1)
    return small or value is None or type(value) is bool
