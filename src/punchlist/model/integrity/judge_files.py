"""What belongs to the tests because they load it, and new files that would get in their way."""

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import PurePosixPath

from punchlist.model.checks.coverage import FAMILIES, file_kind
from punchlist.model.checks.loads import Loads
from punchlist.model.checks.protected import Protected, matches_any
from punchlist.model.integrity.code_names import module_name

_SOURCES = frozenset(suffix for family in FAMILIES for suffix in family)
_IMPORTABLE = (".py", ".pyw", ".pyc", ".so", ".pyd")
_BY_ITSELF = (".pth", ".pyc", ".so", ".pyd", ".egg-link")
_ROOTS = ("src", "lib", "python")
_TESTS = re.compile(r"\bdef test|\bTestCase\b|^class Test", re.MULTILINE)


class JudgeFiles:
    """The files of a tree that tests load and the code under review does not.

    `tests` are the files with tests. `subjects` are the files that findings are about; their
    packages are the code under review.
    """

    def __init__(
        self,
        loads: Loads,
        *,
        tests: Collection[str],
        protected: Protected,
        subjects: Collection[str],
        read: Callable[[str], str],
    ) -> None:
        self._loads = loads
        self._tests = frozenset(tests)
        self._protected = protected
        self._subjects = frozenset(subjects)
        self._packages = {_package(path) for path in subjects} - {""}
        self._read = read

    def holds(self, path: str) -> bool:
        """Return whether a file that no finding is about is loaded by the tests only."""
        if path in self._subjects or path not in self._loads.files:
            return False
        return self._is_helper(path) if path.endswith(".py") else self._is_data(path)

    def _is_test(self, path: str) -> bool:
        return path in self._tests or self._protected.holds(path)

    def _is_code(self, path: str) -> bool:
        """Return whether a file is code under review: of a package with a finding, or tested under
        its own name.
        """
        if self._is_test(path) or not path.endswith(".py"):
            return False
        return path in self._subjects or _package(path) in self._packages or self._has_test(path)

    def _has_test(self, path: str) -> bool:
        name = re.compile(rf"(?:^|[/_.-]){re.escape(module_name(path))}(?:[/_.-]|$)")
        return any(name.search(each) for each in self._loads.files if self._is_test(each))

    def _is_helper(self, path: str, via: frozenset[str] = frozenset()) -> bool:
        if path in via or self._is_code(path):
            return False
        readers = [each for each in self._loads.files.get(path, ()) if each != path]
        if not all(self._is_judge(each, via | {path}) for each in readers):
            return False
        imported = re.compile(
            rf"^\s*(?:from|import)\b.*\b{re.escape(module_name(path))}\b", re.MULTILINE
        )
        return not any(imported.search(self._read(each)) for each in self._list_code(path))

    def _is_judge(self, reader: str, via: frozenset[str]) -> bool:
        """Return whether a file was read by the test runner itself, a test or a helper of tests."""
        return not reader or self._is_test(reader) or self._is_helper(reader, via)

    def _is_data(self, path: str) -> bool:
        """Data belong to the tests if only tests read them, or if code that does not name them
        reads what tests name.
        """
        name = PurePosixPath(path).name
        if any(name in self._read(each) for each in self._list_code(path)):
            return False
        judges = [self._is_judge(each, frozenset()) for each in self._loads.files[path]]
        if all(judges):
            return True
        tests = [each for each in self._loads.files if self._is_test(each) and each in self._tests]
        return not any(judges) and any(name in self._read(each) for each in tests)

    def _list_code(self, path: str) -> Iterator[str]:
        return (each for each in self._loads.files if each != path and self._is_code(each))

    def find_intruder(
        self, path: str, text: str, files: Collection[str], gone: Collection[str] = ()
    ) -> str:
        """Return why a new file gets in the way of the tests, or ''. `files` are in the tree, and
        the patch deletes those that are `gone`.
        """
        if path.endswith(_BY_ITSELF):
            return f"adds {path}, which Python loads by itself"
        if name := self._find_shadowed(path, files, frozenset(gone)):
            return f"adds {path}, which would be imported instead of {name}"
        if self._is_among_tests(path, files) and not _holds_tests(path, text, self._protected):
            return f"adds {path} beside the tests, and it is no test; tests could load it"
        return ""

    def _find_shadowed(self, path: str, files: Collection[str], gone: frozenset[str]) -> str:
        """Return the module, known to Python or in the tree, that the file would replace, or ''."""
        if not path.endswith(_IMPORTABLE):
            return ""
        base = str(PurePosixPath(path).parent / PurePosixPath(path).name.partition(".")[0])
        base = base.removesuffix("/__init__")
        rivals = {f"{base}.py", f"{base}/__init__.py"} - gone - {path}
        beside = path != f"{base}/__init__.py" and any(
            each.startswith(f"{base}/") and each.endswith(".py") and each not in gone
            for each in files
        )
        if beside or rivals.intersection(files):
            return base
        roots = self._loads.roots or ("", "src")
        names = [_dotted(base, root) for root in roots]
        return next((name for name in names if name and self._is_taken(name, path, gone)), "")

    def _is_taken(self, name: str, path: str, gone: frozenset[str]) -> bool:
        known = self._loads.modules.get(name)
        if known is None:
            return name in sys.stdlib_module_names
        return known != path and known not in gone

    def _is_among_tests(self, path: str, files: Collection[str]) -> bool:
        """Return whether the file's folder is one of tests, and was there before."""
        folder = PurePosixPath(path).parent
        if str(folder) == ".":
            return False
        inside = [each for each in files if PurePosixPath(each).parent == folder]
        if matches_any(path, tuple(each for each in self._protected.tests if "/" in each)):
            return bool(inside)
        data = [each for each in inside if not each.endswith(".py")]
        if not path.endswith(".py") and any(map(self.holds, data)):
            return True
        modules = [each for each in inside if each.endswith(".py")]
        tests = [each for each in modules if self._is_test(each)]
        return bool(tests) and 2 * len(tests) >= len(modules) and not self._subjects & set(inside)


def find_test_files(ids: Iterable[str], modules: dict[str, str]) -> frozenset[str]:
    """Return the files of these tests; dotted ids are looked up among the loaded modules."""
    found: set[str] = set()
    for test in ids:
        path, separator, _ = test.partition("::")
        parts = test.split(".")
        names = (".".join(parts[:end]) for end in (-1, -2))
        found.add(path if separator else next((modules[n] for n in names if modules.get(n)), ""))
    return frozenset(found - {""})


def _holds_tests(path: str, text: str, protected: Protected) -> bool:
    """Return whether a file is a test by its name or text; sources of other languages are."""
    names = tuple(each for each in protected.tests if "/" not in each)
    if matches_any(path, names) or _TESTS.search(text):
        return True
    return not path.endswith(".py") and file_kind(path) in _SOURCES


def _package(path: str) -> str:
    """Return the outermost folder of a file that is not just where sources are; '' at the root."""
    folders = PurePosixPath(path).parts[:-1]
    return next((each for each in folders if each not in _ROOTS), "")


def _dotted(base: str, root: str) -> str:
    """Return the module's name as it is imported from a folder, or ''."""
    inner = base.removeprefix(f"{root}/") if root else base
    parts = inner.split("/")
    fits = all(map(str.isidentifier, parts)) and (not root or inner != base)
    return ".".join(parts) if fits else ""
