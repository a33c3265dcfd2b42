"""Start bandit's own command line with fewer imports; the arguments are bandit's.

Runs by itself, without punchlist, in the child. To look at one file, bandit takes three times as
long for what a JSON report does not need: it searches all that is installed for plug-ins, and
imports every format of a report, progress bars and parsers of configuration. Here the plug-ins are
those in bandit's own list, and such modules are imported when something of them is used. Where
this may not come to the same, or anything is not as expected, `python -m bandit` takes over.
"""

import gc
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import MethodType, ModuleType

PLAIN = (sys.executable, "-I", "-m", "bandit")
"""Bandit as it starts by itself."""
_COLLECTED_FROM = 100_000
"""New objects after which garbage is collected: not while the first files are parsed."""
_LATE = ("rich", "rich.progress", "tomllib", "yaml")
_FORMATS, _FORMAT = "bandit.formatters", "json"
_HEADERS = ("Author", "Version")
Groups = dict[str, dict[str, str]]
"""Entry points by group and name, as `module:attribute`."""
NosecFinder = Callable[[Mapping[int, object], object], object]


class LateModule(ModuleType):
    """A module that is imported when something of it is first used."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # the import system itself asks for these
            raise AttributeError(name)
        for late in [key for key, each in sys.modules.items() if isinstance(each, LateModule)]:
            del sys.modules[late]
        real = import_module(self.__name__)
        self.__dict__.update(vars(real))
        return getattr(real, name)


class Distribution:
    """What is installed as bandit, by the files of its `.dist-info` folder."""

    def __init__(self, folder: str) -> None:
        self.groups = _read_groups(f"{folder}/entry_points.txt")
        self._headers = _read_headers(f"{folder}/METADATA")

    def metadata(self, name: str) -> dict[str, str]:
        """Return what bandit asks of `importlib.metadata.metadata`."""
        if name != "bandit":
            raise LookupError(name)
        return self._headers

    def version(self, name: str) -> str:
        return self.metadata(name)["Version"]


class NosecSearch:
    """Bandit's search for the `nosec` comment of a node. It goes through all lines of each node,
    which is left out in a file without such a comment.
    """

    def __init__(self, search: NosecFinder) -> None:
        self._search = search
        self._lines: Mapping[int, object] | None = None
        self._any = False

    def __call__(self, lines: Mapping[int, object], context: object) -> object:
        if lines is not self._lines:
            self._lines, self._any = lines, any(each is not None for each in lines.values())
        return self._search(lines, context) if self._any else None


class BanditVisitor:
    """What is used here of bandit's own visitor of nodes."""

    debug: bool
    depth: int
    testset: "BanditTests"

    pre_visit: Callable[["BanditVisitor", object], object]
    visit: Callable[["BanditVisitor", object], None]


class BanditTests:
    """What is used here of bandit's own set of rules."""

    get_tests: Callable[[str], list[object]]


class IdleNodes:
    """The kinds of nodes of a syntax tree that no rule is about: most of them. Bandit goes through
    them to what is below; the description of the place that it makes for its rules is left out.
    """

    def __init__(self, visitor: type[BanditVisitor]) -> None:
        self._visitor = visitor
        self._describe, self._look = visitor.pre_visit, visitor.visit
        self._known: dict[type, bool] = {}

    def install(self) -> None:
        """Let bandit's visitor of nodes ask here first."""

        def pre_visit(visitor: BanditVisitor, node: object) -> object:
            if self._is_idle(visitor, node):
                visitor.depth += 1
                return True
            return self._describe(visitor, node)

        def visit(visitor: BanditVisitor, node: object) -> None:
            if not self._is_idle(visitor, node):
                self._look(visitor, node)

        for method in (pre_visit, visit):
            setattr(self._visitor, method.__name__, method)

    def _is_idle(self, visitor: BanditVisitor, node: object) -> bool:
        kind = type(node)
        if kind not in self._known:
            name = kind.__name__
            used = hasattr(visitor, f"visit_{name}") or visitor.testset.get_tests(name)
            self._known[kind] = not used and not visitor.debug
        return self._known[kind]


class NosecTokens:
    """The tokens that bandit searches for `nosec` comments: none for a file without that word."""

    def __init__(self, tokenizer: ModuleType) -> None:
        self._tokenizer = tokenizer
        self._tokenize: Callable[[object], Iterator[object]] = tokenizer.tokenize

    def __getattr__(self, name: str) -> object:
        return getattr(self._tokenizer, name)

    def tokenize(self, readline: MethodType) -> Iterator[object]:
        """Return the tokens of a file, given its `readline`, as the real `tokenize` does."""
        file = readline.__self__
        if not isinstance(file, io.BufferedIOBase):
            return self._tokenize(readline)
        text = file.read()
        file.seek(0)
        return iter(()) if _is_plain(text) else self._tokenize(readline)


def _is_plain(text: bytes) -> bool:
    """Return whether the tokens of a file have no word `nosec`, and are read without an error that
    its syntax tree does not have.
    """
    # An encoding that is named could spell the word in other bytes.
    if b"nosec" in text or any(b"coding" in each for each in text.split(b"\n", 2)[:2]):
        return False
    # With a bare carriage return, tokens and parser do not agree on where lines end.
    if text.count(b"\r") != text.count(b"\r\n"):
        return False
    try:
        return text.isascii() or bool(text.decode())
    except UnicodeDecodeError:
        return False


class Extension:
    """A loaded entry point, as stevedore has it."""

    def __init__(self, name: str, place: str) -> None:
        module, _, attribute = place.partition(":")
        self.name = name
        self.plugin = getattr(import_module(module), attribute)


def make_manager(groups: Groups) -> type:
    """Return what takes the place of stevedore's ExtensionManager, for these entry points."""

    class ExtensionManager:
        def __init__(self, namespace: str, **options: object) -> None:
            self._places = groups[namespace]
            names = (_FORMAT,) if namespace == _FORMATS else self._places
            self._loaded = [self[name] for name in names]

        def names(self) -> list[str]:
            return list(self._places)

        def __iter__(self) -> Iterator[Extension]:
            return iter(self._loaded)

        def __contains__(self, name: str) -> bool:
            return name in self._places

        def __getitem__(self, name: str) -> Extension:
            return Extension(name, self._places[name])

    return ExtensionManager


def find_distribution() -> str:
    """Return the `.dist-info` folder of bandit; '' if others plug into it, or may do so."""
    if sum(hasattr(each, "find_distributions") for each in sys.meta_path) != 1:
        return ""
    found = []
    for place in sys.path:
        if place.endswith(".egg") or (os.path.exists(place) and not os.path.isdir(place)):
            return ""
        for name in os.listdir(place) if os.path.isdir(place) else ():
            if name.lower().endswith((".dist-info", ".egg-info")):
                found += [f"{place}/{name}"] if _plugs_in(f"{place}/{name}") else []
    own = len(found) == 1 and os.path.basename(found[0]).startswith("bandit-")
    return found[0] if own else ""


def _plugs_in(folder: str) -> bool:
    try:
        with open(f"{folder}/entry_points.txt", "rb") as file:
            return b"[bandit." in file.read()
    except (FileNotFoundError, NotADirectoryError):
        return False


def _read_groups(path: str) -> Groups:
    groups: Groups = {}
    with open(path, encoding="utf-8") as file:
        for line in map(str.strip, file):
            if line.startswith("["):
                group = groups[line[1:-1]] = {}
            elif line and not line.startswith("#"):
                name, _, place = line.partition("=")
                group[name.strip()] = place.strip()
    return groups


def _read_headers(path: str) -> dict[str, str]:
    headers: dict[str, str] = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            key, _, value = line.rstrip("\n").partition(": ")
            if key in _HEADERS:
                headers.setdefault(key, value)
            if not line.strip():
                break
    return headers


def start_bandit(distribution: Distribution) -> None:
    """Run bandit's command line in this process; it ends with SystemExit."""
    gc.set_threshold(_COLLECTED_FROM)
    late = {name: LateModule(name) for name in (*_LATE, "importlib.metadata")}
    vars(late["rich"])["progress"] = late["rich.progress"]
    asked = {"metadata": distribution.metadata, "version": distribution.version}
    vars(late["importlib.metadata"]).update(asked)
    extension, stevedore = ModuleType("stevedore.extension"), ModuleType("stevedore")
    vars(extension)["ExtensionManager"] = make_manager(distribution.groups)
    vars(stevedore)["extension"] = extension
    sys.modules.update({"stevedore": stevedore, "stevedore.extension": extension})
    for name, module in late.items():
        sys.modules.setdefault(name, module)
    sys.argv[0] = "bandit"
    run, tools = import_module("bandit.cli.main").main, import_module("bandit.core.utils")
    vars(tools)["get_nosec"] = NosecSearch(tools.get_nosec)
    IdleNodes(import_module("bandit.core.node_visitor").BanditNodeVisitor).install()
    manager = import_module("bandit.core.manager")
    vars(manager)["tokenize"] = NosecTokens(manager.tokenize)
    try:
        run()
    finally:
        gc.freeze()  # else the interpreter looks through all objects once more before it exits


def main() -> None:
    try:
        if folder := find_distribution():
            start_bandit(Distribution(folder))
            return
    except Exception:  # noqa: BLE001, S110  # whatever it is, bandit itself is asked
        pass
    os.execv(PLAIN[0], [*PLAIN, *sys.argv[1:]])  # noqa: S606  # the same words, no shell


if __name__ == "__main__":
    main()
