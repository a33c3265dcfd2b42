"""Call functions of one tree with given inputs, and write the outcomes beside this file.

The project's own Python runs it by its path, so it imports nothing of punchlist and uses nothing
newer than Python 3.8.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import itertools
import json
import random
import re
import signal
import sys
import time
from pathlib import Path
from types import CoroutineType, FrameType, GeneratorType, ModuleType

TYPE_CHECKING = False  # typing takes long to import
if TYPE_CHECKING:
    from typing import Any, TextIO

HERE = Path(__file__).resolve().parent
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
DEPTH = 6
ITEMS = 200
TEXT = 4000
SLOW = 6
TRACED = 40
MISFITS = ("TypeError", "AttributeError")
PLACES = {
    "datetime": "datetime.datetime", "date": "datetime.date", "timedelta": "datetime.timedelta",
    "time": "datetime.time", "Decimal": "decimal.Decimal", "Fraction": "fractions.Fraction",
    "Path": "pathlib.PurePosixPath", "UUID": "uuid.UUID", "deque": "collections.deque",
    "Counter": "collections.Counter", "OrderedDict": "collections.OrderedDict",
    "StringIO": "io.StringIO", "BytesIO": "io.BytesIO",
}  # fmt: skip
STANDARD: dict[str, Any] = {}
SCALARS = (bool, int, str, bytes, type(None), complex)


class TooLong(BaseException):
    """Timeout of one call; a BaseException, so that the tested code does not catch it."""


class LineTracer:
    """Traces which changed lines are executed; stops when all were seen."""

    def __init__(self, file: str, lines: list[int]) -> None:
        self.file, self.lines = file, set(lines)
        self.left = set(lines)
        self.reached = 0
        self.here: set[int] = set()

    def __call__(self, frame: FrameType, event: str, _arg: object) -> LineTracer | None:
        if frame.f_code.co_filename != self.file:
            return None
        if event == "line" and frame.f_lineno in self.lines:
            self.here.add(frame.f_lineno)
            if self.left <= self.here:
                sys.settrace(None)
                return None
        return self

    def begin(self) -> None:
        self.here = set()
        if self.left or (self.lines and self.reached < TRACED):
            sys.settrace(self)

    def end(self, ended: list[str]) -> None:
        """Count the call, unless the code could do nothing with its input."""
        sys.settrace(None)
        if ended[0] != "raise" or ended[1] not in MISFITS:
            self.reached += bool(self.here)
            self.left -= self.here


def load(root: Path, path: str, names: list[str]) -> ModuleType:
    """Import a module by one of its dotted names if that leads to the file, else from the file."""
    file = root / path
    for name in names:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        found = getattr(module, "__file__", None)
        if found and Path(found).resolve() == file.resolve():
            return module
    spec = importlib.util.spec_from_file_location("compared_" + file.stem, str(file))
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def describe(value: Any, depth: int = 0, seen: tuple[int, ...] = ()) -> str:
    """Return a deterministic text of a value, independent of its `__eq__`."""
    kind = type(value).__qualname__
    if isinstance(value, float) or type(value) in SCALARS:
        text = format(value, ".12g") if isinstance(value, float) else repr(value)[:TEXT]
        return kind + " " + text
    if depth > DEPTH or id(value) in seen:
        return kind + " ..."

    def describe_part(part: Any) -> str:
        return describe(part, depth + 1, (*seen, id(value)))

    if isinstance(value, dict):
        pairs = [describe_part(k) + ": " + describe_part(v) for k, v in few(value.items())]
        return kind + " {" + ", ".join(pairs) + "}"
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = [describe_part(each) for each in few(value)]
        ordered = sorted(parts) if isinstance(value, (set, frozenset)) else parts
        return kind + " [" + ", ".join(ordered) + "]"
    shown = kind + " " + ADDRESS.sub("", repr(value))[:TEXT]
    if isinstance(value, (type, ModuleType)) or callable(value) or not hasattr(value, "__dict__"):
        return shown
    return shown + " " + describe_part(dict(vars(value)))


def few(values: Any) -> list[Any]:
    return list(itertools.islice(iter(values), ITEMS))


def resolve(value: Any) -> Any:
    """Resolve a lazy result: exhaust generators, run coroutines."""
    if isinstance(value, CoroutineType):
        import asyncio  # it takes long to import, and few functions need it

        return asyncio.run(value)
    if isinstance(value, GeneratorType) or type(value) in (map, filter, zip, reversed, enumerate):
        return (type(value).__name__, few(value))
    return value


def call_function(module: ModuleType, target: dict[str, Any], given: dict[str, Any]) -> list[str]:
    """Make one call; return its ending, its answer with all side effects, and its error."""
    names = {**STANDARD, **vars(module)}
    try:
        args, keywords = eval("_collect(" + given["args"] + ")", {**names, "_collect": collect})  # noqa: S307  # made by us, run in a sandbox
        self: Any = getattr(module, target["owner"]) if target["owner"] else module
        if target["bound"]:
            self = eval(target["owner"] + "(" + given["made"] + ")", names)  # noqa: S307  # same
        for before in given["first"]:
            with contextlib.suppress(Exception):
                resolve(eval("_self." + before, {**names, "_self": self}))  # noqa: S307  # same
        function = getattr(self, target["name"])
    except TooLong:
        raise
    except BaseException as error:  # whatever the constructor does, the input is of no use
        return ["bad", type(error).__qualname__, ""]
    printed = io.StringIO()
    random.seed(0)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            answer = describe(resolve(function(*args, **keywords)))
    except TooLong:
        raise
    except BaseException as error:  # how it fails is the answer
        return ["raise", type(error).__qualname__, str(error)[:TEXT]]
    state = describe(self) if target["bound"] else ""
    return ["ok", " | ".join([answer, describe(args), state, printed.getvalue()[:TEXT]]), ""]


def collect(*args: Any, **keywords: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, keywords


def import_standard(text: str) -> dict[str, Any]:
    """Return names that inputs may use even if the module lacks them: those that the text has."""
    found = ((name, *place.split(".")) for name, place in PLACES.items() if name in text)
    return {name: getattr(importlib.import_module(module), kind) for name, module, kind in found}


def ring(_signal: int, _frame: FrameType | None) -> None:
    raise TooLong


def call_timed(
    module: ModuleType, target: dict[str, Any], given: dict[str, Any], seconds: float
) -> list[str]:
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return call_function(module, target, given)
    except TooLong:
        return ["slow", "", ""]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def compare(plan: dict[str, Any], side: str, out: TextIO) -> None:
    """Write one line per target and input; a missing last line means that the child died."""
    until = time.monotonic() + plan["seconds"]
    unloaded: set[str] = set()
    for number, target in enumerate(plan["targets"]):
        try:
            if target["path"] in unloaded:
                continue
            module = load(Path.cwd(), target["path"], target["modules"])
        except BaseException as error:  # an import may end in any way
            unloaded.add(target["path"])
            tell(out, [number, -1, "unloaded", f"{type(error).__qualname__}: {error}"[:TEXT]])
            continue
        watch, slow = LineTracer(str(Path(str(module.__file__))), target[side]), 0
        for index, given in enumerate(target["inputs"]):
            if time.monotonic() > until or slow >= SLOW:
                break
            tell(out, [number, index, "begun"])
            watch.begin()
            ended = call_timed(module, target, given, plan["each"])
            watch.end(ended)
            slow += ended[0] == "slow"
            tell(out, [number, index, *ended])
        tell(out, [number, -1, "reached", watch.reached, len(watch.left)])
    tell(out, [-1, -1, "ended"])


def tell(out: TextIO, line: list[Any]) -> None:
    out.write(json.dumps(line) + "\n")
    out.flush()


if __name__ == "__main__":
    sys.path[0] = str(Path.cwd())
    sys.setrecursionlimit(2000)
    signal.signal(signal.SIGALRM, ring)
    plan = (HERE / "plan.json").read_text(encoding="utf-8")
    STANDARD.update(import_standard(plan))
    wanted = json.loads(plan)
    sys.path[:0] = wanted["folders"]
    sys.argv = ["compared"]
    with (HERE / "outcomes.jsonl").open("w", encoding="utf-8") as lines:
        compare(wanted, wanted["side"], lines)
