"""Detect partial fixes: the finding asks for an error that nothing in the new code raises."""

import ast
import re
from collections.abc import Collection, Iterable

from punchlist.adapters.compare.changed_code import ChangedFunction, Function, list_names
from punchlist.adapters.compare.examples import last_name
from punchlist.adapters.compare.tables import TABLES
from punchlist.model.finding.python_source import parse_python

_NAME = r"(?P<name>(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception))\b"
_MUST = r"\b(?:must|should|shall|(?:has|have|needs?|ought|is|are) to|promises|documents)\b"
_DEMAND = re.compile(_MUST + r"(?P<between>[^.;:,]{0,90}?)`{0,2}\b" + _NAME)
_DEMANDED = re.compile(_NAME + r"`{0,2} " + _MUST + r" be (?:raised|thrown)\b")
_RAISING = re.compile(r"\b(?:rais|refus|reject|fail|throw|signal|end|stop)|^ an? $")
_OTHERWISE = re.compile(
    r"\b(?:not|never|no|nor|instead|rather|without|longer|but|and|or|than|when\w*|if|where\w*"
    r"|while|that|which|return\w*|giv\w+|yield\w*|catch\w*|caught|handl\w+|swallow\w*"
    r"|suppress\w*|ignor\w+|avoid\w*|like|as)\b|n't\b"
)
"""What else can be said about an error than that it must come."""
_TRYING = ast.Try | ast.TryStar | ast.With | ast.AsyncWith
"""Statements that may keep an error from going on."""
_HARMLESS = frozenset(
    "abs all any bool dict enumerate isinstance len list repr reversed set sorted str sum tuple zip"
    " append copy get items join keys update values".split()
).union(TABLES.methods["str"])
"""What code can call without an error of its own to expect."""


def find_demanded_errors(words: str) -> frozenset[str]:
    """Return the classes of errors, by their last name, that a finding says must be raised."""
    text = " ".join(words.split())
    found = [match["name"] for match in _DEMANDED.finditer(text)]
    for match in _DEMAND.finditer(text):
        between = match["between"]
        if _RAISING.search(between) and not _OTHERWISE.search(between):
            found.append(match["name"])
    return frozenset(name.rpartition(".")[2] for name in found)


def raises_more(texts: Iterable[tuple[str | None, str | None]]) -> bool:
    """Return whether files, before and after, have more places that raise an error than before."""
    return any(_count_raises(new or "") > _count_raises(old or "") for old, new in texts)


def _count_raises(text: str) -> int:
    tree = parse_python(text)
    return sum(isinstance(node, ast.Raise) for node in ast.walk(tree)) if tree is not None else 0


def find_missing_error(
    words: str, changed: Iterable[ChangedFunction], raised: Collection[str]
) -> str:
    """Return why a fix lacks an error that the finding asks for, or ''. `raised`: the errors that
    calls of the new code ended with where the old code did not. Code that raises anything, names
    the error, calls what may raise it, or lets one through that it kept gets no verdict.
    """
    functions = list(changed)
    demanded = find_demanded_errors(words)
    if not functions or not demanded or demanded.intersection(raised):
        return ""
    if any(_may_raise(each, demanded) for each in functions):
        return ""
    name = min(demanded)
    return (
        f"the finding asks for {name}, and nothing that changed raises it: no line does, and no"
        f" input of {functions[0].full} ends with it that did not before"
    )


def _may_raise(changed: ChangedFunction, demanded: frozenset[str]) -> bool:
    raises = any(isinstance(node, ast.Raise | ast.Assert) for node in ast.walk(changed.new))
    called = _list_called(changed.new) - _list_called(changed.old) - _HARMLESS
    kept = _count_trying(changed.new) == _count_trying(changed.old)
    return raises or bool(called) or not kept or bool(list_names(changed.new) & demanded)


def _list_called(function: Function) -> set[str]:
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    found = {last_name(node.func) or "something" for node in calls}
    if any(isinstance(node, ast.Subscript) for node in ast.walk(function)):
        found.add("a lookup")
    return found


def _count_trying(function: Function) -> int:
    return sum(isinstance(node, _TRYING) for node in ast.walk(function))
