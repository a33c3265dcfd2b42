"""The values offered for one parameter, as source: those seen in calls, the code's constants and
their neighbours, plain ones.
"""

import ast
from collections.abc import Mapping, Sequence
from itertools import islice

from punchlist.adapters.compare.changed_code import Function
from punchlist.adapters.compare.examples import Mined, Value, literals
from punchlist.adapters.compare.parameter_types import Parameter, guessed
from punchlist.adapters.compare.plain_values import BYTES, FLOATS, INTS, TEXTS, neighbours, texts_of
from punchlist.model.finding.python_source import parse_expression

_MOST = 90
_DEPTH = 3
_LISTS = frozenset(
    "list List Sequence Iterable Iterator Collection MutableSequence Sized Generator deque".split()
)
_SETS = frozenset("set Set frozenset FrozenSet AbstractSet MutableSet".split())
_DICTS = frozenset(
    "dict Dict Mapping MutableMapping DefaultDict defaultdict OrderedDict Counter".split()
)
_OTHER = {
    kind: tuple(choices.split("; "))
    for kind, choices in {
        "none": "None",
        "None": "None",
        "NoneType": "None",
        "bool": "True; False",
        "callable": (
            "len; str; lambda *a: a[0] if a else None; lambda *a: True; lambda *a: False; lambda x:"
            " x * 2; sum"
        ),
        "date": (
            "date(2024, 2, 29); date(2024, 1, 1); date(2023, 12, 31); date(2024, 3, 31); date(2024,"
            " 6, 15)"
        ),
        "datetime": (
            "datetime(2024, 2, 29, 12); datetime(2024, 1, 1); datetime(2023, 12, 31, 23, 59, 59)"
        ),
        "timedelta": (
            "timedelta(0); timedelta(days=1); timedelta(seconds=-1); timedelta(hours=25, minutes=1)"
        ),
        "Decimal": (
            "Decimal('0'); Decimal('1'); Decimal('0.005'); Decimal('2.675'); Decimal('-1.5');"
            " Decimal('99.99')"
        ),
        "Fraction": "Fraction(1, 3); Fraction(0); Fraction(-3, 2)",
        "Path": "Path('a/b.txt'); Path('.'); Path('/x/y.tar.gz'); Path('a')",
        "object": "None; 0; ''; []",
        "complex": "0j; 1+2j",
        "StringIO": "StringIO('a\\nb')",
        "TextIO": "StringIO('a\\nb\\n')",
    }.items()
}
"""Kinds that are neither plain nor containers, with a few values each."""
_HUGE = 1e300


class Choices:
    """Values for the parameters of one module's functions."""

    def __init__(self, classes: Mapping[str, ast.ClassDef], known: Mined) -> None:
        self._classes = classes
        constants = literals(known.constants)
        self._numbers = [
            value
            for value in constants
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        self._texts = [
            value for value in constants if isinstance(value, str) and len(value) <= 80
        ]  # longer ones are prose

    def of(self, parameter: Parameter, function: Function, seen: Sequence[str]) -> list[str]:
        keys = _keys(function)
        if parameter.annotation is not None:
            found = self._typed(parameter.annotation, keys, 0)
        else:
            found = (
                self._of_kinds(guessed(parameter, function), keys, 0)
                if not seen
                else self._like(seen, keys)
            )
        near = texts_of(near for value in literals(seen) for near in islice(neighbours(value), 12))
        default = (
            [ast.unparse(parameter.default)] if isinstance(parameter.default, ast.Constant) else []
        )
        return list(dict.fromkeys([*default, *seen, *_spread(near, found)]))[:_MOST] or ["None"]

    def made_of_fields(self, node: ast.ClassDef) -> list[str]:
        """Constructor arguments of a class that declares its fields: a dataclass, a named tuple, a
        struct.
        """
        fields = [
            s for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
        ]
        needed = [self._typed(field.annotation, (), 1) for field in fields if field.value is None]
        if not needed:
            return [""]
        return [", ".join(row) for row in _rows(needed)]

    def _like(self, seen: Sequence[str], keys: Sequence[str]) -> list[str]:
        """More of what callers were seen to give."""
        kinds = [type(value).__name__ for value in literals(seen)]
        return self._of_kinds(tuple(dict.fromkeys(kinds)), keys, 0) if kinds else []

    def _of_kinds(self, kinds: Sequence[str], keys: Sequence[str], depth: int) -> list[str]:
        return _turns([self._of_kind(kind, keys, depth) for kind in kinds])

    def _of_kind(self, kind: str, keys: Sequence[str], depth: int) -> list[str]:
        if kind in _OTHER:
            return list(_OTHER[kind])
        if kind in self._classes:
            return self._object(kind, depth)
        if kind in ("list", "pairs", "tuple", "set", "dict"):
            return self._container(kind, keys, depth)
        plain = {"int": self._ints, "float": self._floats, "str": self._strings}
        return plain[kind]() if kind in plain else texts_of(BYTES) if kind == "bytes" else []

    def _ints(self) -> list[str]:
        own = [value for value in self._numbers if isinstance(value, int)]
        return texts_of([*_near(own), *INTS])

    def _floats(self) -> list[str]:
        return texts_of(
            [
                *(float(value) for value in self._numbers if abs(value) < _HUGE),
                *FLOATS,
                *INTS[:10],
                *_near(self._numbers),
            ]
        )

    def _strings(self) -> list[str]:
        words = [value for value in self._texts if value]
        return _spread(texts_of(words), texts_of(TEXTS))

    def _container(self, kind: str, keys: Sequence[str], depth: int) -> list[str]:
        """Containers of the usual things: numbers, words, records with the keys that the code asks
        for.
        """
        numbers, words = self._ints()[:14], self._strings()[:14]
        if kind == "dict":
            records = _records(keys, numbers, words)
            return [*records, *_dicts(words, numbers), *_dicts(numbers, words), "{}"]
        if kind == "pairs":
            return _lists(
                [f"({a}, {b})" for a, b in zip(numbers, numbers[3:] + numbers[:3], strict=True)],
                "list",
            )
        inner = [_lists(numbers, kind), _lists(words, kind)]
        if keys and kind != "set":
            inner.insert(0, _lists(_records(keys, numbers, words), kind))
        if depth < 1 and kind == "list":
            inner.append(_lists(_lists(numbers, "list")[:10], "list"))
        return _turns(inner)

    def _typed(self, annotation: ast.expr, keys: Sequence[str], depth: int) -> list[str]:
        match annotation:
            case ast.Constant(value=str(text)):
                return self._spelt(text, keys, depth)
            case ast.Constant(value=None):
                return ["None"]
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return _turns([self._typed(left, keys, depth), self._typed(right, keys, depth)])
            case ast.Subscript(value=outer, slice=inner):
                return self._generic(_name(outer), inner, keys, depth)
            case ast.Name() | ast.Attribute():
                return self._named(_name(annotation), keys, depth)
            case _:
                return []

    def _spelt(self, text: str, keys: Sequence[str], depth: int) -> list[str]:
        node = parse_expression(text)
        return self._typed(node, keys, depth) if node else []

    def _named(self, name: str, keys: Sequence[str], depth: int) -> list[str]:
        if name in ("Any", "T", "K", "V", "Hashable"):
            return self._of_kinds(("int", "str", "list", "none"), keys, depth)
        if name == "Callable":
            return list(_OTHER["callable"])
        kind = (
            "list"
            if name in _LISTS
            else "set"
            if name in _SETS
            else "dict"
            if name in _DICTS
            else name
        )
        kind = (
            "float"
            if kind in ("Number", "Real", "SupportsFloat")
            else "Path"
            if kind in ("PurePath", "PurePosixPath")
            else kind
        )
        return self._of_kind(kind, keys, depth)

    def _generic(self, outer: str, inner: ast.expr, keys: Sequence[str], depth: int) -> list[str]:
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if depth >= _DEPTH:
            return ["[]"]
        if outer == "Literal":
            return [ast.unparse(part) for part in parts]
        if outer in ("Optional", "Union", "Annotated", "Final"):
            offered = [
                self._typed(part, keys, depth)
                for part in (parts[:1] if outer == "Annotated" else parts)
            ]
            return _turns([*offered, ["None"]] if outer == "Optional" else offered)
        return (
            list(_OTHER["callable"])
            if outer == "Callable"
            else self._filled(outer, parts, keys, depth)
        )

    def _filled(
        self, outer: str, parts: Sequence[ast.expr], keys: Sequence[str], depth: int
    ) -> list[str]:
        """Containers that say what is in them."""
        elements = [self._typed(part, keys, depth + 1) for part in parts if not _is_dots(part)]
        if outer in _DICTS and len(elements) > 1:
            return [*_dicts(elements[0], elements[1]), "{}"]
        if outer in ("tuple", "Tuple") and not any(map(_is_dots, parts)):
            return [f"({', '.join(row)},)" for row in _rows(elements)]
        kind = "set" if outer in _SETS else "tuple" if outer in ("tuple", "Tuple") else "list"
        return (
            _lists(elements[0], kind)
            if elements and elements[0]
            else self._container(kind, keys, depth)
        )

    def _object(self, name: str, depth: int) -> list[str]:
        """Objects of a class of the module: members of an enum, or made of their fields or of what
        the constructor asks for.
        """
        node = self._classes[name]
        if any("Enum" in _name(base) or _name(base) == "Flag" for base in node.bases):
            return [
                f"{name}.{s.targets[0].id}"
                for s in node.body
                if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)
            ]
        if depth >= _DEPTH:
            return []
        start = next(
            (s for s in node.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None
        )
        if start is None:
            return [f"{name}({row})" for row in self.made_of_fields(node)]
        asked = start.args.args[1 : len(start.args.args) - len(start.args.defaults)]
        kinds = [guessed(Parameter(arg.arg), start) for arg in asked]
        offered = [
            (
                self._typed(arg.annotation, (), depth + 1)
                if arg.annotation
                else self._of_kinds(kind, (), depth + 1)
            )
            for arg, kind in zip(asked, kinds, strict=True)
        ]
        return [f"{name}({', '.join(row)})" for row in _rows(offered)] if offered else [f"{name}()"]


def _keys(function: Function) -> tuple[str, ...]:
    """Words by which the code looks something up: `row["price"]`, `row.get("price")`."""
    found: list[str] = []
    for node in ast.walk(function):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(key))):
                found.append(key)
            case ast.Call(
                func=ast.Attribute(attr="get" | "pop" | "setdefault"),
                args=[ast.Constant(value=str(key)), *_],
            ):
                found.append(key)
            case _:
                continue
    return tuple(dict.fromkeys(found))


def _records(keys: Sequence[str], numbers: Sequence[str], words: Sequence[str]) -> list[str]:
    if not keys:
        return []
    pools = [(numbers, [*numbers[2:], *numbers[:2]], words)[n % 3] for n in range(3 * 6)]
    made = [
        "{"
        + ", ".join(f"{key!r}: {pool[(turn + at) % len(pool)]}" for at, key in enumerate(keys))
        + "}"
        for turn, pool in enumerate(pools)
    ]
    partly = [
        "{" + ", ".join(f"{key!r}: {numbers[0]}" for key in keys if key != left) + "}"
        for left in keys[:4]
    ]
    return [*made, *partly]


def _dicts(keys: Sequence[str], values: Sequence[str]) -> list[str]:
    if not keys or not values:
        return []
    sizes = (1, 2, 3, 5)
    return [
        "{"
        + ", ".join(
            f"{keys[(turn + at) % len(keys)]}: {values[(2 * turn + at) % len(values)]}"
            for at in range(size)
        )
        + "}"
        for turn in range(8)
        for size in sizes
    ]


def _lists(elements: Sequence[str], kind: str) -> list[str]:
    """Empty, single, doubled, in and out of order, longer ones."""
    if not elements:
        return []
    size = len(elements)
    at = [[turn % size] for turn in range(min(size, 6))]
    rows = [
        [],
        *at,
        [0, 0],
        [0, 1],
        [1, 0],
        [0, 1, 2],
        [2, 1, 0],
        [0, 1, 0],
        [1, 1, 2, 2],
        [3, 0, 2, 1],
        list(range(min(size, 7))),
    ]
    rows += [
        [(turn * 3 + step * 5) % size for step in range(length)]
        for turn in range(8)
        for length in (3, 4, 6)
    ]
    opening, closing = {"set": ("set([", "])"), "tuple": ("tuple([", "])")}.get(kind, ("[", "]"))
    return list(
        dict.fromkeys(
            opening + ", ".join(elements[n % size] for n in row) + closing for row in rows
        )
    )


def _rows(offered: Sequence[Sequence[str]]) -> list[list[str]]:
    usable = [choices or ["None"] for choices in offered]
    return [
        [choices[(turn * (at + 1)) % len(choices)] for at, choices in enumerate(usable)]
        for turn in range(24)
    ]


def _near(values: Sequence[Value]) -> list[Value]:
    return [near for value in values for near in (value, *islice(neighbours(value), 2))]


def _spread(one: Sequence[str], other: Sequence[str]) -> list[str]:
    return _turns([one, other])


def _turns(lists: Sequence[Sequence[str]]) -> list[str]:
    """Turn by turn, so that the first few have something of each."""
    longest = max(map(len, lists), default=0)
    return list(
        dict.fromkeys(each[at] for at in range(longest) for each in lists if at < len(each))
    )


def _name(node: ast.expr) -> str:
    return (
        node.id
        if isinstance(node, ast.Name)
        else node.attr
        if isinstance(node, ast.Attribute)
        else ""
    )


def _is_dots(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis
