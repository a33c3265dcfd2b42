"""What a bug's tests ask for, seen by running them over the right fix: the calls with plain arguments, and their answers."""

import ast
import inspect
import types
from dataclasses import dataclass
from functools import cache, wraps


@dataclass(frozen=True)
class Call:
    """One call of a public function: its arguments and its answer as source; `kind` is value, yields or raise."""

    function: str
    arguments: str
    kind: str
    answer: str

    @property
    def expression(self):
        """Source of the call, with a lazy answer as a list."""
        call = f"{self.function}(*{self.arguments})"
        return f"list({call})" if self.kind == "yields" else call


@cache
def observed(bug, kind):
    """The calls that the tests of this kind (`tests` or `covering`) make, each once; those that are not plain are left out."""
    module = types.ModuleType(bug.name)
    exec(compile(bug.fix, bug.path, "exec"), vars(module))
    seen = {}
    for name in bug.functions:
        function = getattr(module, name)
        if isinstance(function, types.FunctionType):
            setattr(module, name, _recorder(function, seen))
    names = {**vars(module), "pytest": __import__("pytest")}
    exec(compile(getattr(bug, kind), "tests", "exec"), names)
    for name, test in list(names.items()):
        if name.startswith("test_") and not getattr(test, "pytestmark", None):
            test()
    return tuple(seen.values())


def _recorder(function, seen):
    @wraps(function)
    def call(*args, **named):
        bound = inspect.signature(function).bind(*args, **named)
        bound.apply_defaults()
        arguments, named = repr(bound.args), bound.kwargs
        kind, answer = "value", None
        try:
            answer = function(*bound.args, **named)
            if isinstance(answer, types.GeneratorType):
                kind, answer = "yields", list(answer)
        except Exception as error:
            kind, answer = "raise", type(error).__name__
            _keep(seen, function, named, Call(function.__name__, arguments, kind, repr(answer)))
            raise
        _keep(seen, function, named, Call(function.__name__, arguments, kind, repr(answer)))
        return iter(answer) if kind == "yields" else answer

    return call


def _keep(seen, function, named, call):
    if not named and _plain(call.arguments) and _plain(call.answer) and call.arguments != "()":
        seen.setdefault((function.__name__, call.arguments), call)


def _plain(text):
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return len(text) < 500


def answers_of(code, calls):
    """By call: what this code answers, as source; None where it fails."""
    names = {}
    exec(compile(code, "code", "exec"), names)
    found = {}
    for call in calls:
        try:
            answer = repr(eval(call.expression, names))
            found[call] = answer if _plain(answer) else None
        except Exception:  # noqa: BLE001 - whatever it raises, there is no answer
            found[call] = None
    return found
