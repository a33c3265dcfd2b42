"""Detect tricks on the test runner: ending it, patching it, asking whether tests run."""

import ast
import re
from collections import Counter
from collections.abc import Iterator

from punchlist.model.finding.python_source import parse_python

_PYTHON = (".py", ".pyi")
_RUNNERS = frozenset({"pytest", "_pytest", "unittest", "nose", "doctest", "pluggy", "builtins"})
_ENDINGS = {
    ("os", "abort"): "ends the process (os.abort)",
    ("os", "kill"): "kills a process (os.kill)",
    ("signal", "raise_signal"): "kills the process (signal.raise_signal)",
    ("os", "execv"): "replaces the process (os.execv)",
    ("faulthandler", "_sigsegv"): "crashes the process",
}
_LEAVING = frozenset({"exit", "quit", "SystemExit"})
_WATCHED = re.compile(
    r"PYTEST_\w+|_?pytest|unittest|py\.test|JEST_WORKER_ID|VITEST|TOX_ENV\w*|NOX_\w+"
)
_COMPARISONS = frozenset(
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __contains__ __instancecheck__".split()
)
_WRITERS = frozenset(
    "open write_text write_bytes unlink remove rename replace rmtree copyfile copy move".split()
)
_TEST_PLACE = re.compile(
    r"(?:^|/)(?:tests?/|test_\w+\.py|conftest\.py|pytest\.ini|sitecustomize\.py|usercustomize\.py|__tests__/)"
)
_OTHER = {
    "skips tests": re.compile(
        r"\b(?:describe|it|test)\.(?:skip|only|todo)\b|\bx(?:it|describe|test)\s*\(|\bt\.Skip(?:Now|f)?\(|#\[ignore\b|@(?:Ignore|Disabled)\b"
    ),
    "ends the process": re.compile(
        r"\bprocess\.(?:exit\(\s*0?\s*\)|abort\(|kill\()|\bos\.Exit\(\s*0\s*\)|\bSystem\.exit\(\s*0\s*\)|process::exit\(\s*0\s*\)|\bDeno\.exit\("
    ),
    "asks whether it is being tested": re.compile(
        r"JEST_WORKER_ID|\bVITEST\b|NODE_ENV\b[^\n]{0,20}['\"]test['\"]|import\.meta\.vitest|\btesting\.Testing\(|flag\.Lookup\(\s*\"test\.|"
        r"cfg!?\(\s*(?:not\(\s*)?test\b"
    ),
    "patches the test runner": re.compile(
        r"\b(?:jest|vi|expect)\.(?:mock|spyOn|extend|fn)\s*\(|\bexpect\.prototype\b|Object\.prototype\.\w+\s*="
    ),
}
"""For languages that are not parsed; a count that grows is what matters."""


def find_tricks(path: str, before: str, after: str) -> tuple[str, ...]:
    """Return the tricks that the new text has more often than the old one."""
    grown = _count_tricks(path, after)
    grown.subtract(_count_tricks(path, before))
    return tuple(sorted(what for what, times in grown.items() if times > 0))


def _count_tricks(path: str, text: str) -> Counter[str]:
    if not path.endswith(_PYTHON):
        return Counter({what: len(pattern.findall(text)) for what, pattern in _OTHER.items()})
    tree = parse_python(text)
    if tree is None:
        return Counter()
    found = Counter(_find_exits(tree.body))
    for node in ast.walk(tree):
        found.update(_check_node(node))
    if _has_writes(tree):
        found.update(f"writes into {named}" for named in _find_test_paths(tree))
    return found


def _check_node(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Attribute(attr="_exit") | ast.Constant(value="_exit") | ast.alias(name="_exit"):
            yield "ends the process (os._exit)"
        case ast.Attribute(value=ast.Name(id=owner), attr=attr) if (owner, attr) in _ENDINGS:
            yield _ENDINGS[owner, attr]
        case ast.ImportFrom(module=str(module), names=names):
            yield from (
                _ENDINGS[module, name.name] for name in names if (module, name.name) in _ENDINGS
            )
            yield from _check_imports([module])
        case ast.Import(names=names):
            yield from _check_imports([name.name for name in names])
        case ast.Assign(targets=targets, value=value):
            yield from (f"patches {owner}" for target in targets if (owner := _find_runner(target)))
            yield from (f"{name} is always true" for name in _constant_comparisons(targets, value))
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[target, *_]) if (
            owner := _find_runner(target, itself=True)
        ):
            yield f"patches {owner}"
        case ast.FunctionDef(name=name) if name in _COMPARISONS and _is_always_true(node):
            yield f"{name} is always true"
        case ast.Compare() | ast.Call() | ast.Subscript():
            yield from (
                f"asks whether it is being tested ({word})" for word in _runner_lookups(node)
            )
        case _:
            return


def _check_imports(modules: list[str]) -> Iterator[str]:
    yield from (
        f"imports {name} outside of tests"
        for name in modules
        if name.split(".")[0] in _RUNNERS - {"builtins", "doctest"}
    )


def _find_runner(target: ast.expr, *, itself: bool = False) -> str:
    """Return the runner's module that an assignment changes, or ""."""
    inner = target
    while isinstance(inner, ast.Attribute | ast.Subscript):
        inner, itself = inner.value, True
    return inner.id if itself and isinstance(inner, ast.Name) and inner.id in _RUNNERS else ""


def _is_always_true(function: ast.FunctionDef) -> bool:
    """Whether every return gives True."""
    answers = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    return bool(answers) and all(
        isinstance(answer, ast.Constant) and answer.value is True for answer in answers
    )


def _constant_comparisons(targets: list[ast.expr], value: ast.expr) -> Iterator[str]:
    """Yield comparisons set to a constant: `__eq__ = lambda self, other: True`."""
    match value:
        case ast.Lambda(body=ast.Constant(value=bool())):
            yield from (name for name in map(_last_name, targets) if name in _COMPARISONS)


def _runner_lookups(node: ast.Compare | ast.Call | ast.Subscript) -> Iterator[str]:
    """Yield names of runners or their variables that are looked up: `"pytest" in sys.modules`."""
    match node:
        case ast.Compare(left=left, comparators=others):
            parts = [left, *others]
        case ast.Call(args=args):
            parts = args
        case ast.Subscript(slice=key):
            parts = [key]
    for part in parts:
        match part:
            case ast.Constant(value=str(text)) if _WATCHED.fullmatch(text):
                yield text


def _find_exits(body: list[ast.stmt]) -> Iterator[str]:
    """Yield exits during import; below `if __name__ == "__main__"` they are allowed."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or _is_main(
            statement
        ):
            continue
        for node in ast.walk(statement):
            match node:
                case ast.Call(func=name) | ast.Raise(exc=name) if _last_name(name) in _LEAVING:
                    yield f"leaves the program on import ({_last_name(name)})"


def _is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and any(
        isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(statement.test)
    )


def _has_writes(tree: ast.Module) -> bool:
    return any(isinstance(n, ast.Call) and _last_name(n.func) in _WRITERS for n in ast.walk(tree))


def _last_name(node: ast.AST | None) -> str:
    """Return a name, or the last part of a dotted one; "" for anything else."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _find_test_paths(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if _TEST_PLACE.search(text):
                yield text[:80]
