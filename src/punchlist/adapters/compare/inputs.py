"""Generate deterministic inputs for one function: real examples, their neighbours, combinations."""

import ast
import random
from collections.abc import Iterator, Sequence
from itertools import islice, product

from msgspec import Struct

from punchlist.adapters.compare.argument_values import ValueChoices, find_constructor
from punchlist.adapters.compare.changed_code import ChangedFunction, Function
from punchlist.adapters.compare.examples import Example, MinedExamples
from punchlist.adapters.compare.parameter_types import Parameter, list_parameters
from punchlist.adapters.compare.plain_values import render_neighbours

MOST = 480
_NEAR = 14
_BEFORE = 3
"""Calls on an object before the one that counts."""
_PAIRED = 6
_PAIRS = 60
"""Examples of a method that are tried after others, and how often."""


class Input(Struct, frozen=True):
    """As source: `made` the constructor's arguments, `first` the calls before this one."""

    args: str
    made: str = ""
    first: tuple[str, ...] = ()

    def render_call(self, name: str) -> str:
        owner, dot, last = name.rpartition(".")
        if owner and (self.made or any(self.first)):
            owner = f"{owner}({self.made})"
        calls = "".join(f"{call}; ." for call in self.first) if owner else ""
        return f"{owner}{dot}{calls}{last}({self.args})"


class InputMaker:
    """Makes inputs for the functions of one module."""

    def __init__(self, tree: ast.Module, known: MinedExamples) -> None:
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._known = known
        self._choices = ValueChoices(self._classes, known)

    def make_inputs(self, changed: ChangedFunction, *, bound: bool) -> list[Input]:
        """Return inputs; with `bound` each includes how to make the object."""
        chance = random.Random(changed.full)  # noqa: S311  # the same inputs every time is the point
        counted = bound or bool(changed.owner and not _is_static(changed.new))
        found = self._list_arguments(changed.new, changed.name, chance, bound=counted)
        args = list(dict.fromkeys(islice(found, MOST)))
        if not bound:
            return [Input(each) for each in args]
        makers = self._list_constructors(changed.owner, chance)
        before = self._list_prior_calls(changed, chance)
        rows = [(each, makers[n % len(makers)]) for n, each in enumerate(args)]
        rows += [(chance.choice(args), chance.choice(makers)) for _ in range(MOST - len(rows))]
        made = [Input(each, maker, _pick_calls(before, chance)) for each, maker in rows]
        return [*self._list_pairs(changed, makers[0]), *made][:MOST]

    def _list_pairs(self, changed: ChangedFunction, made: str) -> Iterator[Input]:
        """Yield each example of a method after each example of a method of its class."""
        names = [node.name for node in self._list_public(changed.owner)]
        calls = [
            f"{name}({_join_arguments(example)})"
            for name in names
            for example in self._known.calls.get(name, ())[:_PAIRED]
        ]
        own = self._known.calls.get(changed.name, ())[:_PAIRED]
        for before, example in islice(product(calls, own), _PAIRS):
            yield Input(_join_arguments(example), made, (before,))

    def _list_constructors(self, owner: str, chance: random.Random) -> list[str]:
        """Return constructor arguments of a class, real ones first."""
        node = self._classes[owner]
        found = [_join_arguments(example) for example in self._known.calls.get(owner, ())]
        start = find_constructor(node)
        if start is not None:
            found += islice(self._list_arguments(start, owner, chance, bound=True), 40)
        else:
            found += self._choices.field_arguments(node)
        return list(dict.fromkeys(found)) or [""]

    def _list_prior_calls(self, changed: ChangedFunction, chance: random.Random) -> list[str]:
        calls: list[str] = []
        for function in self._list_public(changed.owner):
            name = function.name
            rows = islice(self._list_arguments(function, name, chance, bound=True), 12)
            calls += [f"{name}({row})" for row in rows]
        return calls

    def _list_public(self, owner: str) -> list[ast.FunctionDef]:
        body = (node for node in self._classes[owner].body if isinstance(node, ast.FunctionDef))
        return [node for node in body if not node.name.startswith("_") and not node.decorator_list]

    def _list_arguments(
        self, function: Function, name: str, chance: random.Random, *, bound: bool
    ) -> Iterator[str]:
        given = list_parameters(function, bound=bound)
        if not given:
            yield ""
            return
        examples = self._known.calls.get(name, ())
        yield from map(_join_arguments, examples)
        offered = [
            self._choices.list_values(parameter, function, _seen_values(examples, given, at))
            for at, parameter in enumerate(given)
        ]
        yield from _interleave(
            _vary_examples(examples, given, offered), _combine_values(given, offered, chance)
        )


def _pick_calls(calls: Sequence[str], chance: random.Random) -> tuple[str, ...]:
    return tuple(chance.choice(calls) for _ in range(chance.randint(0, _BEFORE))) if calls else ()


def _interleave(*streams: Iterator[str]) -> Iterator[str]:
    """Merge the streams round-robin."""
    waiting = list(streams)
    while waiting:
        for stream in tuple(waiting):
            text = next(stream, None)
            if text is None:
                waiting.remove(stream)
            else:
                yield text


def _join_arguments(example: Example) -> str:
    return ", ".join((*example.args, *(f"{name}={value}" for name, value in example.keywords)))


def _seen_values(examples: Sequence[Example], given: Sequence[Parameter], at: int) -> list[str]:
    """Return the values that callers pass for one parameter."""
    name = given[at].name
    found = [example.args[at] for example in examples if at < len(example.args)]
    found += [value for example in examples for word, value in example.keywords if word == name]
    return list(dict.fromkeys(found))


def _vary_examples(
    examples: Sequence[Example], given: Sequence[Parameter], offered: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Yield each example with one argument replaced, by neighbours, then by other values."""
    for example in examples:
        for at, text in enumerate(example.args[: len(given)]):
            for other in (*render_neighbours([text], _NEAR), *offered[at][:_NEAR]):
                args = (*example.args[:at], other, *example.args[at + 1 :])
                yield _join_arguments(Example(args, example.keywords))


def _combine_values(
    given: Sequence[Parameter], offered: Sequence[Sequence[str]], chance: random.Random
) -> Iterator[str]:
    """Yield every value once, then random combinations, some with equal arguments."""
    longest = max(map(len, offered))
    for turn in range(longest):
        yield _write_arguments(given, [choices[turn % len(choices)] for choices in offered])
        if len(given) > 1:
            yield _write_arguments(given, [chance.choice(choices[:12]) for choices in offered])
    for _ in range(MOST):
        picked = [chance.choice(choices) for choices in offered]
        if len(picked) > 1 and chance.random() < 0.3:  # equal arguments are often a limit case
            one, other = chance.sample(range(len(picked)), 2)
            picked[one] = picked[other] if picked[other] in offered[one] else picked[one]
        yield _write_arguments(given, picked)


def _write_arguments(given: Sequence[Parameter], values: Sequence[str]) -> str:
    return ", ".join(
        f"{p.name}={value}" if p.keyword else value for p, value in zip(given, values, strict=True)
    )


def _is_static(function: Function) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list)
