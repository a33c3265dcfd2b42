"""Record the calls that tests make of the code under review, as a plug-in of pytest or before
unittest starts.

The project's own Python imports it, so it imports nothing of punchlist and uses nothing newer than
Python 3.8.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import opcode
import os
import pickle
import sys
import tempfile
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MOST = 60
"""Calls recorded of one test."""
LARGEST = 20000
LAZY = 0x20 | 0x80 | 0x100 | 0x200
"""Flags of generators and coroutines, whose frames end with every value."""
REAL_TIME = time.time
MOCKS = ("_patch", "_patch_dict")
COUNTED: list[Any] = []


def load_sibling(name: str) -> Any:
    """Import a file of this folder under a name of its own."""
    spec = importlib.util.spec_from_file_location(name, str(HERE / (name + ".py")))
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018  # it was copied here
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


values = load_sibling(Path(__file__).stem + "_values")


class Recorder:
    """Follows the calls of one test at a time and writes them when it ends."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.root = os.path.realpath(job["root"])
        self.files = frozenset(job["files"])
        self.state = job["state"]
        self.data = frozenset(job["data"])
        self.temporary = os.path.realpath(tempfile.gettempdir())
        self.test, self.calls, self.opened = "", [], {}  # type: ignore[var-annotated]
        self.known: dict[str, str] = {}
        self.cwd, self.environment = str(Path.cwd()), read_environment()
        self.modules: list[types.ModuleType] = []
        self.globals: dict[str, dict[str, Any]] = {}
        self.mocks = [0]

    def find_file(self, path: str) -> str:
        """Return the path in the tree of a file under review, or ''."""
        if path not in self.known:
            full = os.path.realpath(path)
            below = os.path.relpath(full, self.root) if full.startswith(self.root + os.sep) else ""
            self.known[path] = below if below in self.files else ""
        return self.known[path]

    def arrange(self, test: str) -> None:
        """Note how things are before the test makes its arrangements."""
        self.test, self.calls, self.opened = test, [], {}
        self.modules = self.find_modules() if self.state else []
        self.globals = self.read_globals()
        count_mocks(self.mocks)

    def find_modules(self) -> list[types.ModuleType]:
        """Return the modules under review that are loaded."""
        modules = [
            each for each in list(sys.modules.values()) if isinstance(each, types.ModuleType)
        ]
        files = ((module, getattr(module, "__file__", None)) for module in modules)
        return [module for module, file in files if isinstance(file, str) and self.find_file(file)]

    def read_globals(self) -> dict[str, dict[str, Any]]:
        """Return which value each global of the modules under review has."""
        return {
            module.__name__: {
                name: (id(each), len(each) if type(each) in values.SEQUENCES else 0)
                for name, each in list(vars(module).items())
            }
            for module in self.modules
        }

    def find_arrangement(self) -> str:
        """Return what the test has arranged that a process of its own does not have, or ''."""
        if str(Path.cwd()) != self.cwd:
            return "works in a folder of its own"
        if read_environment() != self.environment:
            return "sets variables of the environment"
        if time.time is not REAL_TIME:
            return "stops the clock"
        if self.mocks[0] > 0:
            return "puts mocks in the place of code"
        return "sets globals of the code" if self.read_globals() != self.globals else ""

    def find_given_file(self, args: list[Any], keywords: dict[str, Any]) -> str:
        """Return whether an argument leads to a file that a process of its own does not have."""
        given = [os.fspath(each) for each in args if isinstance(each, os.PathLike)]
        for text in (*given, *values.list_leaves([args, keywords])):
            if not isinstance(text, str) or os.sep not in text or "\0" in text:
                continue
            full = os.path.realpath(text)
            below = os.path.relpath(full, self.root) if full.startswith(self.root + os.sep) else ""
            own = full.startswith(self.temporary + os.sep) and Path(full).is_dir()
            if below in self.data if below else own or Path(full).is_file():
                return "hands over a file of its own"
        return ""

    def __call__(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if event == "call":
            self.begin(frame)
        elif event == "return" and frame in self.opened:
            self.end(frame, arg)

    def begin(self, frame: types.FrameType) -> None:
        code = frame.f_code
        file = self.find_file(code.co_filename)
        if not file or code.co_name.startswith("<") or len(self.calls) > MOST:
            return
        back = frame.f_back
        if back is not None and self.find_file(back.f_code.co_filename):
            return
        args, keywords = read_arguments(frame)
        module = str(frame.f_globals.get("__name__"))
        made: dict[str, Any] = {"test": self.test, "file": file, "module": module}
        made.update(name=find_name(frame), key="", input="", shown="", answer=None)
        made["arranged"] = self.find_arrangement() or self.find_given_file(args, keywords)
        self.calls.append(made)
        try:
            text = values.describe([args, keywords])
            if len(text) <= LARGEST:
                made["input"] = base64.b64encode(pickle.dumps((args, keywords))).decode()
            made["key"] = values.name_call(module, made["name"], text)
            made["shown"] = show_arguments(args, keywords)
        except Exception:  # what cannot be copied cannot be called again
            made["input"] = ""
        if not code.co_flags & LAZY:
            self.opened[frame] = (made, args)

    def end(self, frame: types.FrameType, arg: Any) -> None:
        made, args = self.opened.pop(frame)
        code = frame.f_code
        last = code.co_code[frame.f_lasti] if frame.f_lasti >= 0 else 0
        if not opcode.opname[last].startswith("RETURN"):
            made["answer"] = ["raise", ""]
        elif not hasattr(type(arg), "__next__"):
            memo: dict[int, int] = {}
            said = values.describe(arg, 0, memo) + " | " + values.describe(args, 0, memo)
            made["answer"] = ["value", values.shorten(said, (self.root,))]

    def finish(self) -> None:
        """Write the calls of the test."""
        path = [os.path.relpath(os.path.realpath(each or "."), self.root) for each in sys.path]
        inside = [each for each in dict.fromkeys(path) if not each.startswith("..")]
        with (HERE / "calls.jsonl").open("a", encoding="utf-8") as out:
            for each in self.calls:
                out.write(json.dumps({**each, "path": inside}) + "\n")
        self.calls, self.opened = [], {}


def read_environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}


def read_arguments(frame: types.FrameType) -> tuple[list[Any], dict[str, Any]]:
    code, given = frame.f_code, frame.f_locals
    count, names = code.co_argcount, code.co_varnames
    args = [given[name] for name in names[:count]]
    keywords = {name: given[name] for name in names[count : count + code.co_kwonlyargcount]}
    at = count + code.co_kwonlyargcount
    if code.co_flags & 0x04:
        args += given[names[at]]
        at += 1
    if code.co_flags & 0x08:
        keywords.update(given[names[at]])
    return args, keywords


def find_name(frame: types.FrameType) -> str:
    """Return the dotted name of a frame's function; with `<locals>` for a nested one."""
    code = frame.f_code
    known = getattr(code, "co_qualname", None)
    if known:
        return str(known)
    for name, each in list_functions(frame.f_globals):
        if getattr(each, "__code__", None) is code:
            return name
    return "<locals>." + code.co_name


def list_functions(names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, each in list(names.items()):
        if isinstance(each, type):
            for inner, raw in list(vars(each).items()):
                method = getattr(raw, "fget", None) or getattr(raw, "__func__", raw)
                yield name + "." + inner, getattr(method, "__wrapped__", method)
        else:
            yield name, getattr(each, "__wrapped__", each)


def show_arguments(args: list[Any], keywords: dict[str, Any]) -> str:
    """Return plain arguments as source, for people."""
    plain = (*values.PLAIN, *values.SEQUENCES)
    shown = [repr(each) if type(each) in plain else "..." for each in args]
    shown += [name + "=" + repr(each) for name, each in keywords.items() if type(each) in plain]
    text = ", ".join(shown)
    return text if len(text) <= 80 else text[:77] + "..."


def count_mocks(active: list[int]) -> None:
    """Count the mocks that stand in the place of code from now on."""
    mock: Any = sys.modules.get("unittest.mock")
    fixtures: Any = sys.modules.get("_pytest.monkeypatch")
    own = ("setattr", "delattr", "setitem", "delitem", "syspath_prepend")
    ways: list[Any] = [(getattr(mock, name, None), ("__enter__",), "__exit__") for name in MOCKS]
    ways.append((getattr(fixtures, "MonkeyPatch", None), own, "undo"))
    for kind, begins, end in ways:
        if kind is not None and kind not in COUNTED:
            COUNTED.append(kind)
            count_between(kind, begins, end, active)


def count_between(kind: Any, begins: tuple[str, ...], end: str, active: list[int]) -> None:
    """Let each of `begins` add one to the count, and `end` take away what its object added."""
    added: dict[int, int] = {}
    last = getattr(kind, end)

    def make_entry(first: Any) -> Any:
        def enter(self: Any, *args: Any, **keywords: Any) -> Any:
            active[0] += 1
            added[id(self)] = added.get(id(self), 0) + 1
            return first(self, *args, **keywords)

        return enter

    def leave(self: Any, *args: Any, **keywords: Any) -> Any:
        active[0] -= added.pop(id(self), 0)
        return last(self, *args, **keywords)

    for name in begins:
        setattr(kind, name, make_entry(getattr(kind, name)))
    setattr(kind, end, leave)


def follow_unittest(recorder: Recorder) -> None:
    """Record between the start and the end of each test of unittest."""
    import unittest

    start, stop = unittest.TestResult.startTest, unittest.TestResult.stopTest

    def begin(self: Any, test: Any) -> None:
        recorder.arrange(test.id())
        start(self, test)
        sys.setprofile(recorder)

    def end(self: Any, test: Any) -> None:
        sys.setprofile(None)
        recorder.finish()
        stop(self, test)

    unittest.TestResult.startTest = begin  # type: ignore[method-assign]
    unittest.TestResult.stopTest = end  # type: ignore[method-assign]


RECORDER = Recorder(json.loads((HERE / "job.json").read_text(encoding="utf-8")))

if "_pytest" in sys.modules:
    import pytest

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(item: Any) -> None:
        RECORDER.arrange(item.nodeid)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(item: Any) -> Iterator[None]:
        sys.setprofile(RECORDER)
        yield
        sys.setprofile(None)
        RECORDER.finish()

else:
    follow_unittest(RECORDER)
