"""Generate values for one parameter as source, from calls, constants, their neighbours and plain
values.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from punchlist.adapters.compare.changed_code import Function
from punchlist.adapters.compare.examples import MinedExamples, Value, last_name, parse_literals
from punchlist.adapters.compare.parameter_types import Parameter, guess_kinds
from punchlist.adapters.compare.plain_values import (
    BYTES,
    FLOATS,
    INTS,
    neighbours,
    render_neighbours,
    render_values,
)
from punchlist.adapters.compare.tables import TABLES, invert
from punchlist.model.finding.python_source import parse_expression

_MOST = 90
_DEPTH = 3
_KINDS = invert(TABLES.annotations)
_HUGE = 1e300
_PROSE = 80
"""Longer constants are prose."""


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
            value for value in constants if isinstance(value, str) and 0 < len(value) <= _PROSE
        ]

    def list_values(
        self, parameter: Parameter, function: Function, seen: Sequence[str]
    ) -> list[str]:
        keys = _find_keys(function)
        if parameter.annotation is not None:
            found = self._offer_annotated(parameter.annotation, keys, 0)
        elif seen:
            found = self._offer_similar(seen, keys)
        else:
            found = self._offer_kinds(guess_kinds(parameter, function), keys, 0)
        default = parameter.default
        first = [ast.unparse(default)] if isinstance(default, ast.Constant) else []
        mixed = _interleave([render_neighbours(seen, 12), found])
        return list(dict.fromkeys([*first, *seen, *mixed]))[:_MOST] or ["None"]

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
        return [", ".join(row) for row in _make_rows(needed)] if needed else [""]

    def _offer_similar(self, seen: Sequence[str], keys: Sequence[str]) -> list[str]:
        """Return more values of the types that callers pass."""
        kinds = [type(value).__name__ for value in parse_literals(seen)]
        return self._offer_kinds(tuple(dict.fromkeys(kinds)), keys, 0) if kinds else []

    def _offer_kinds(self, kinds: Sequence[str], keys: Sequence[str], depth: int) -> list[str]:
        return _interleave([self._offer_kind(kind, keys, depth) for kind in kinds])

    def _offer_kind(self, kind: str, keys: Sequence[str], depth: int) -> list[str]:
        if kind in TABLES.values:
            return list(TABLES.values[kind])
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
        return _interleave([render_values(self._texts), render_values(TABLES.texts)])

    def _offer_containers(self, kind: str, keys: Sequence[str], depth: int) -> list[str]:
        """Return containers of numbers, words, and records with the keys that the code reads."""
        numbers, words = self._offer_ints()[:14], self._offer_strings()[:14]
        if kind == "dict":
            records = _make_records(keys, numbers, words)
            return [*records, *_make_dicts(words, numbers), *_make_dicts(numbers, words), "{}"]
        if kind == "pairs":
            others = numbers[3:] + numbers[:3]
            pairs = [f"({a}, {b})" for a, b in zip(numbers, others, strict=True)]
            return _make_lists(pairs, "list")
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
                return self._offer_union([left, right], keys, depth)
            case ast.Subscript(value=outer, slice=inner):
                return self._offer_generic(last_name(outer), inner, keys, depth)
            case ast.Name() | ast.Attribute():
                return self._offer_named(last_name(annotation), keys, depth)
            case _:
                return []

    def _offer_union(self, parts: Sequence[ast.expr], keys: Sequence[str], depth: int) -> list[str]:
        return _interleave([self._offer_annotated(part, keys, depth) for part in parts])

    def _offer_quoted(self, text: str, keys: Sequence[str], depth: int) -> list[str]:
        node = parse_expression(text)
        return self._offer_annotated(node, keys, depth) if node else []

    def _offer_named(self, name: str, keys: Sequence[str], depth: int) -> list[str]:
        if name in ("Any", "T", "K", "V", "Hashable"):
            return self._offer_kinds(("int", "str", "list", "none"), keys, depth)
        return self._offer_kind(_KINDS.get(name, name), keys, depth)

    def _offer_generic(
        self, outer: str, inner: ast.expr, keys: Sequence[str], depth: int
    ) -> list[str]:
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if depth >= _DEPTH:
            return ["[]"]
        if outer == "Literal":
            return [ast.unparse(part) for part in parts]
        if outer == "Optional":
            return self._offer_union([*parts, ast.Constant(None)], keys, depth)
        if outer in ("Union", "Annotated", "Final"):
            return self._offer_union(parts[:1] if outer == "Annotated" else parts, keys, depth)
        if outer == "Callable":
            return list(TABLES.values["callable"])
        return self._offer_filled(outer, parts, keys, depth)

    def _offer_filled(
        self, outer: str, parts: Sequence[ast.expr], keys: Sequence[str], depth: int
    ) -> list[str]:
        """Return containers with the annotated element types."""
        elements = [
            self._offer_annotated(part, keys, depth + 1) for part in parts if not _is_dots(part)
        ]
        kind = "tuple" if outer == "Tuple" else _KINDS.get(outer, outer)
        if kind == "dict" and len(elements) > 1:
            return [*_make_dicts(elements[0], elements[1]), "{}"]
        if kind == "tuple" and not any(map(_is_dots, parts)):
            return [f"({', '.join(row)},)" for row in _make_rows(elements)]
        kind = kind if kind in ("set", "tuple") else "list"
        if elements and elements[0]:
            return _make_lists(elements[0], kind)
        return self._offer_containers(kind, keys, depth)

    def _offer_objects(self, name: str, depth: int) -> list[str]:
        """Return objects of a class of the module: enum members, or constructor calls."""
        node = self._classes[name]
        bases = [last_name(base) for base in node.bases]
        if any("Enum" in base or base == "Flag" for base in bases):
            return [
                f"{name}.{s.targets[0].id}"
                for s in node.body
                if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)
            ]
        if depth >= _DEPTH:
            return []
        start = find_constructor(node)
        if start is None:
            return [f"{name}({row})" for row in self.field_arguments(node)]
        needed = start.args.args[1 : len(start.args.args) - len(start.args.defaults)]
        if not needed:
            return [f"{name}()"]
        offered = [
            (
                self._offer_annotated(arg.annotation, (), depth + 1)
                if arg.annotation
                else self._offer_kinds(guess_kinds(Parameter(arg.arg), start), (), depth + 1)
            )
            for arg in needed
        ]
        return [f"{name}({', '.join(row)})" for row in _make_rows(offered)]


def find_constructor(node: ast.ClassDef) -> ast.FunctionDef | None:
    functions = (each for each in node.body if isinstance(each, ast.FunctionDef))
    return next((each for each in functions if each.name == "__init__"), None)


def _find_keys(function: Function) -> tuple[str, ...]:
    """Return the keys that the code looks up: `row["price"]`, `row.get("price")`."""
    found: list[str] = []
    for node in ast.walk(function):
        match node:
            case (
                ast.Subscript(slice=ast.Constant(value=str(key)))
                | ast.Call(
                    func=ast.Attribute(attr="get" | "pop" | "setdefault"),
                    args=[ast.Constant(value=str(key)), *_],
                )
            ):
                found.append(key)
            case _:
                continue
    return tuple(dict.fromkeys(found))


def _make_records(keys: Sequence[str], numbers: Sequence[str], words: Sequence[str]) -> list[str]:
    if not keys:
        return []
    pools = [(numbers, [*numbers[2:], *numbers[:2]], words)[n % 3] for n in range(3 * 6)]
    whole = [
        _write_dict(f"{key!r}: {pool[(turn + at) % len(pool)]}" for at, key in enumerate(keys))
        for turn, pool in enumerate(pools)
    ]
    partly = [
        _write_dict(f"{key!r}: {numbers[0]}" for key in keys if key != left) for left in keys[:4]
    ]
    return [*whole, *partly]


def _make_dicts(keys: Sequence[str], values: Sequence[str]) -> list[str]:
    if not keys or not values:
        return []
    return [
        _write_dict(
            f"{keys[(turn + at) % len(keys)]}: {values[(2 * turn + at) % len(values)]}"
            for at in range(size)
        )
        for turn in range(8)
        for size in (1, 2, 3, 5)
    ]


def _write_dict(entries: Iterable[str]) -> str:
    return "{" + ", ".join(entries) + "}"


def _make_lists(elements: Sequence[str], kind: str) -> list[str]:
    """Return lists as source: empty, single, doubled, sorted, unsorted, longer."""
    if not elements:
        return []
    size = len(elements)
    rows: list[Sequence[int]] = [[], *([turn] for turn in range(min(size, 6)))]
    rows += [[0, 0], [0, 1], [1, 0], [0, 1, 2], [2, 1, 0], [0, 1, 0], [1, 1, 2, 2], [3, 0, 2, 1]]
    rows.append(range(min(size, 7)))
    rows += [
        [turn * 3 + step * 5 for step in range(length)] for turn in range(8) for length in (3, 4, 6)
    ]
    lists = [f"[{', '.join(elements[n % size] for n in row)}]" for row in rows]
    made = [f"{kind}({each})" for each in lists] if kind in ("set", "tuple") else lists
    return list(dict.fromkeys(made))


def _make_rows(offered: Sequence[Sequence[str]]) -> list[list[str]]:
    usable = [choices or ["None"] for choices in offered]
    return [
        [choices[(turn * (at + 1)) % len(choices)] for at, choices in enumerate(usable)]
        for turn in range(24)
    ]


def _add_neighbours(values: Sequence[Value]) -> list[Value]:
    return [near for value in values for near in (value, *islice(neighbours(value), 2))]


def _interleave(lists: Sequence[Sequence[str]]) -> list[str]:
    """Merge lists round-robin, without duplicates."""
    longest = max(map(len, lists), default=0)
    merged = (each[at] for at in range(longest) for each in lists if at < len(each))
    return list(dict.fromkeys(merged))


def _is_dots(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis
