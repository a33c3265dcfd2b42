"""Generate values for one parameter as source: from calls, from the code's constants and their
neighbours, plain ones.
"""

import ast
from collections.abc import Mapping, Sequence
from itertools import islice

from punchlist.adapters.compare.changed_code import Function
from punchlist.adapters.compare.examples import MinedExamples, Value, parse_literals
from punchlist.adapters.compare.parameter_types import Parameter, guess_kinds
from punchlist.adapters.compare.plain_values import (
    BYTES,
    FLOATS,
    INTS,
    TEXTS,
    neighbours,
    render_values,
)
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


class ValueChoices:
    """Values for the parameters of one module's functions."""

    def __init__(self, classes: Mapping[str, ast.ClassDef], known: MinedExamples) -> None:
        self._classes = classes
        constants = parse_literals(known.constants)
        self._numbers = [
            value
            for value in constants
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        self._texts = [
            value for value in constants if isinstance(value, str) and len(value) <= 80
        ]  # longer ones are prose

    def list_values(
        self, parameter: Parameter, function: Function, seen: Sequence[str]
    ) -> list[str]:
        keys = _find_keys(function)
        if parameter.annotation is not None:
            found = self._offer_annotated(parameter.annotation, keys, 0)
        else:
            found = (
                self._offer_kinds(guess_kinds(parameter, function), keys, 0)
                if not seen
                else self._offer_similar(seen, keys)
            )
        near = render_values(
            near for value in parse_literals(seen) for near in islice(neighbours(value), 12)
        )
        default = (
            [ast.unparse(parameter.default)] if isinstance(parameter.default, ast.Constant) else []
        )
        return list(dict.fromkeys([*default, *seen, *_interleave_pair(near, found)]))[:_MOST] or [
            "None"
        ]

    def field_arguments(self, node: ast.ClassDef) -> list[str]:
        """Return constructor arguments of a class with declared fields (dataclass, named tuple,
        struct).
        """
        fields = [
            s for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
        ]
        needed = [
            self._offer_annotated(field.annotation, (), 1)
            for field in fields
            if field.value is None
        ]
        if not needed:
            return [""]
        return [", ".join(row) for row in _make_rows(needed)]

    def _offer_similar(self, seen: Sequence[str], keys: Sequence[str]) -> list[str]:
        """Return more values of the types that callers pass."""
        kinds = [type(value).__name__ for value in parse_literals(seen)]
        return self._offer_kinds(tuple(dict.fromkeys(kinds)), keys, 0) if kinds else []

    def _offer_kinds(self, kinds: Sequence[str], keys: Sequence[str], depth: int) -> list[str]:
        return _interleave([self._offer_kind(kind, keys, depth) for kind in kinds])

    def _offer_kind(self, kind: str, keys: Sequence[str], depth: int) -> list[str]:
        if kind in _OTHER:
            return list(_OTHER[kind])
        if kind in self._classes:
            return self._offer_objects(kind, depth)
        if kind in ("list", "pairs", "tuple", "set", "dict"):
            return self._offer_containers(kind, keys, depth)
        plain = {"int": self._offer_ints, "float": self._offer_floats, "str": self._offer_strings}
        return plain[kind]() if kind in plain else render_values(BYTES) if kind == "bytes" else []

    def _offer_ints(self) -> list[str]:
        own = [value for value in self._numbers if isinstance(value, int)]
        return render_values([*_add_neighbours(own), *INTS])

    def _offer_floats(self) -> list[str]:
        return render_values(
            [
                *(float(value) for value in self._numbers if abs(value) < _HUGE),
                *FLOATS,
                *INTS[:10],
                *_add_neighbours(self._numbers),
            ]
        )

    def _offer_strings(self) -> list[str]:
        words = [value for value in self._texts if value]
        return _interleave_pair(render_values(words), render_values(TEXTS))

    def _offer_containers(self, kind: str, keys: Sequence[str], depth: int) -> list[str]:
        """Return containers of numbers, words, and records with the keys that the code reads."""
        numbers, words = self._offer_ints()[:14], self._offer_strings()[:14]
        if kind == "dict":
            records = _make_records(keys, numbers, words)
            return [*records, *_make_dicts(words, numbers), *_make_dicts(numbers, words), "{}"]
        if kind == "pairs":
            return _make_lists(
                [f"({a}, {b})" for a, b in zip(numbers, numbers[3:] + numbers[:3], strict=True)],
                "list",
            )
        inner = [_make_lists(numbers, kind), _make_lists(words, kind)]
        if keys and kind != "set":
            inner.insert(0, _make_lists(_make_records(keys, numbers, words), kind))
        if depth < 1 and kind == "list":
            inner.append(_make_lists(_make_lists(numbers, "list")[:10], "list"))
        return _interleave(inner)

    def _offer_annotated(self, annotation: ast.expr, keys: Sequence[str], depth: int) -> list[str]:
        match annotation:
            case ast.Constant(value=str(text)):
                return self._offer_quoted(text, keys, depth)
            case ast.Constant(value=None):
                return ["None"]
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return _interleave(
                    [
                        self._offer_annotated(left, keys, depth),
                        self._offer_annotated(right, keys, depth),
                    ]
                )
            case ast.Subscript(value=outer, slice=inner):
                return self._offer_generic(_last_name(outer), inner, keys, depth)
            case ast.Name() | ast.Attribute():
                return self._offer_named(_last_name(annotation), keys, depth)
            case _:
                return []

    def _offer_quoted(self, text: str, keys: Sequence[str], depth: int) -> list[str]:
        node = parse_expression(text)
        return self._offer_annotated(node, keys, depth) if node else []

    def _offer_named(self, name: str, keys: Sequence[str], depth: int) -> list[str]:
        if name in ("Any", "T", "K", "V", "Hashable"):
            return self._offer_kinds(("int", "str", "list", "none"), keys, depth)
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
        return self._offer_kind(kind, keys, depth)

    def _offer_generic(
        self, outer: str, inner: ast.expr, keys: Sequence[str], depth: int
    ) -> list[str]:
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if depth >= _DEPTH:
            return ["[]"]
        if outer == "Literal":
            return [ast.unparse(part) for part in parts]
        if outer in ("Optional", "Union", "Annotated", "Final"):
            offered = [
                self._offer_annotated(part, keys, depth)
                for part in (parts[:1] if outer == "Annotated" else parts)
            ]
            return _interleave([*offered, ["None"]] if outer == "Optional" else offered)
        return (
            list(_OTHER["callable"])
            if outer == "Callable"
            else self._offer_filled(outer, parts, keys, depth)
        )

    def _offer_filled(
        self, outer: str, parts: Sequence[ast.expr], keys: Sequence[str], depth: int
    ) -> list[str]:
        """Return containers with the annotated element types."""
        elements = [
            self._offer_annotated(part, keys, depth + 1) for part in parts if not _is_dots(part)
        ]
        if outer in _DICTS and len(elements) > 1:
            return [*_make_dicts(elements[0], elements[1]), "{}"]
        if outer in ("tuple", "Tuple") and not any(map(_is_dots, parts)):
            return [f"({', '.join(row)},)" for row in _make_rows(elements)]
        kind = "set" if outer in _SETS else "tuple" if outer in ("tuple", "Tuple") else "list"
        return (
            _make_lists(elements[0], kind)
            if elements and elements[0]
            else self._offer_containers(kind, keys, depth)
        )

    def _offer_objects(self, name: str, depth: int) -> list[str]:
        """Return objects of a class of the module: enum members, or constructor calls."""
        node = self._classes[name]
        if any("Enum" in _last_name(base) or _last_name(base) == "Flag" for base in node.bases):
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
            return [f"{name}({row})" for row in self.field_arguments(node)]
        asked = start.args.args[1 : len(start.args.args) - len(start.args.defaults)]
        kinds = [guess_kinds(Parameter(arg.arg), start) for arg in asked]
        offered = [
            (
                self._offer_annotated(arg.annotation, (), depth + 1)
                if arg.annotation
                else self._offer_kinds(kind, (), depth + 1)
            )
            for arg, kind in zip(asked, kinds, strict=True)
        ]
        return (
            [f"{name}({', '.join(row)})" for row in _make_rows(offered)]
            if offered
            else [f"{name}()"]
        )


def _find_keys(function: Function) -> tuple[str, ...]:
    """Return the keys that the code looks up: `row["price"]`, `row.get("price")`."""
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


def _make_records(keys: Sequence[str], numbers: Sequence[str], words: Sequence[str]) -> list[str]:
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


def _make_dicts(keys: Sequence[str], values: Sequence[str]) -> list[str]:
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


def _make_lists(elements: Sequence[str], kind: str) -> list[str]:
    """Return lists as source: empty, single, doubled, sorted, unsorted, longer."""
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


def _make_rows(offered: Sequence[Sequence[str]]) -> list[list[str]]:
    usable = [choices or ["None"] for choices in offered]
    return [
        [choices[(turn * (at + 1)) % len(choices)] for at, choices in enumerate(usable)]
        for turn in range(24)
    ]


def _add_neighbours(values: Sequence[Value]) -> list[Value]:
    return [near for value in values for near in (value, *islice(neighbours(value), 2))]


def _interleave_pair(one: Sequence[str], other: Sequence[str]) -> list[str]:
    return _interleave([one, other])


def _interleave(lists: Sequence[Sequence[str]]) -> list[str]:
    """Merge lists round-robin, without duplicates."""
    longest = max(map(len, lists), default=0)
    return list(
        dict.fromkeys(each[at] for at in range(longest) for each in lists if at < len(each))
    )


def _last_name(node: ast.expr) -> str:
    return (
        node.id
        if isinstance(node, ast.Name)
        else node.attr
        if isinstance(node, ast.Attribute)
        else ""
    )


def _is_dots(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis
