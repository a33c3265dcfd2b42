"""Inputs for one function, always the same for the same code: real examples first, then their
neighbours, then combinations.
"""

import ast
import random
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from msgspec import Struct

from punchlist.adapters.compare.argument_values import Choices
from punchlist.adapters.compare.changed_code import Changed, Function
from punchlist.adapters.compare.examples import Example, Mined, literals
from punchlist.adapters.compare.parameter_types import Parameter, parameters
from punchlist.adapters.compare.plain_values import neighbours, texts_of

MOST = 480
_NEAR = 14
_BEFORE = 3
"""Calls on an object before the one that counts."""


class Input(Struct, frozen=True):
    """`made` are the arguments of the object's constructor, `first` the calls on it before this
    one; all of it is source.
    """

    args: str
    made: str = ""
    first: tuple[str, ...] = ()

    def shown(self, name: str) -> str:
        owner, _, last = name.rpartition(".")
        before = (
            f"{owner}({self.made})." + "".join(f"{call}; ." for call in self.first)
            if owner and self.made + "".join(self.first)
            else ""
        )
        return f"{before or (owner + '.' if owner else '')}{last}({self.args})"


class Inputs:
    """Makes inputs for the functions of one module."""

    def __init__(self, tree: ast.Module, known: Mined) -> None:
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._known = known
        self._choices = Choices(self._classes, known)

    def of(self, changed: Changed, *, bound: bool) -> list[Input]:
        """`bound`: it is called on an object, which must be made first."""
        chance = random.Random(changed.full)  # noqa: S311  # the same inputs every time is the point
        counted = bound or bool(changed.owner and not _is_static(changed.new))
        args = list(
            dict.fromkeys(
                islice(self._arguments(changed.new, changed.name, chance, bound=counted), MOST)
            )
        )
        if not bound:
            return [Input(each) for each in args]
        makers = self._makers(changed.owner, chance)
        before = self._before(changed, chance)
        rows = [(each, makers[n % len(makers)]) for n, each in enumerate(args)]
        rows += [(chance.choice(args), chance.choice(makers)) for _ in range(MOST - len(rows))]
        return [Input(each, made, self._some(before, chance)) for each, made in rows]

    def _some(self, calls: Sequence[str], chance: random.Random) -> tuple[str, ...]:
        return (
            tuple(chance.choice(calls) for _ in range(chance.randint(0, _BEFORE))) if calls else ()
        )

    def _makers(self, owner: str, chance: random.Random) -> list[str]:
        """Ways to make an object of a class, real ones first."""
        node = self._classes[owner]
        found = [_row(example) for example in self._known.calls.get(owner, ())]
        start = next(
            (s for s in node.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None
        )
        if start is not None:
            found += islice(self._arguments(start, owner, chance, bound=True), 40)
        else:
            found += self._choices.made_of_fields(node)
        return list(dict.fromkeys(found)) or [""]

    def _before(self, changed: Changed, chance: random.Random) -> list[str]:
        calls: list[str] = []
        for function in self._classes[changed.owner].body:
            if (
                not isinstance(function, ast.FunctionDef)
                or function.name.startswith("_")
                or function.decorator_list
            ):
                continue
            rows = islice(self._arguments(function, function.name, chance, bound=True), 12)
            calls += [f"{function.name}({row})" for row in rows]
        return calls

    def _arguments(
        self, function: Function, name: str, chance: random.Random, *, bound: bool
    ) -> Iterator[str]:
        given = parameters(function, bound=bound)
        if not given:
            yield ""
            return
        examples = self._known.calls.get(name, ())
        yield from map(_row, examples)
        offered = [
            self._choices.of(parameter, function, _seen(examples, given, at))
            for at, parameter in enumerate(given)
        ]
        yield from _mixed(_varied(examples, given, offered), _combined(given, offered, chance))


def _mixed(*streams: Iterator[str]) -> Iterator[str]:
    """Turn by turn from each, until all are done."""
    waiting = list(streams)
    while waiting:
        for stream in tuple(waiting):
            text = next(stream, None)
            if text is None:
                waiting.remove(stream)
            else:
                yield text


def _row(example: Example) -> str:
    return ", ".join((*example.args, *(f"{name}={value}" for name, value in example.keywords)))


def _seen(examples: Sequence[Example], given: Sequence[Parameter], at: int) -> list[str]:
    """What callers were seen to give for one parameter."""
    name = given[at].name
    named = [
        value for example in examples for keyword, value in example.keywords if keyword == name
    ]
    return list(
        dict.fromkeys(
            [*(example.args[at] for example in examples if at < len(example.args)), *named]
        )
    )


def _varied(
    examples: Sequence[Example], given: Sequence[Parameter], offered: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Each example with one argument changed: first to its neighbours, then to something else that
    fits.
    """
    for example in examples:
        for at, text in enumerate(example.args[: len(given)]):
            near = texts_of(
                chain.from_iterable(islice(neighbours(value), _NEAR) for value in literals([text]))
            )
            for other in (*near, *offered[at][:_NEAR]):
                yield _row(
                    Example((*example.args[:at], other, *example.args[at + 1 :]), example.keywords)
                )


def _combined(
    given: Sequence[Parameter], offered: Sequence[Sequence[str]], chance: random.Random
) -> Iterator[str]:
    """Every choice once beside the first ones of the others, then equal ones, then by chance."""
    longest = max(map(len, offered))
    for turn in range(longest):
        yield _written(given, [choices[turn % len(choices)] for choices in offered])
        if len(given) > 1:
            yield _written(given, [chance.choice(choices[:12]) for choices in offered])
    for _ in range(MOST):
        picked = [chance.choice(choices) for choices in offered]
        if len(picked) > 1 and chance.random() < 0.3:  # what is equal is where limits lie
            one, other = chance.sample(range(len(picked)), 2)
            picked[one] = picked[other] if picked[other] in offered[one] else picked[one]
        yield _written(given, picked)


def _written(given: Sequence[Parameter], values: Sequence[str]) -> str:
    return ", ".join(
        f"{p.name}={value}" if p.keyword else value for p, value in zip(given, values, strict=True)
    )


def _is_static(function: Function) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list)
