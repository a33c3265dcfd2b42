"""Functions that recurse, or that parse without a limit, are used in one place each."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import punchlist

pytestmark = pytest.mark.pure
SOURCE = Path(punchlist.__file__).parent

FOLDERS = {
    "shutil.rmtree", "shutil.copytree", "os.walk", "os.fwalk", "os.removedirs", "os.renames",
    "tempfile.TemporaryDirectory", "glob.glob", "glob.iglob",
}  # fmt: skip
METHODS = {"rglob", "walk"}
RAISING = {"exists", "is_file", "is_dir", "is_symlink", "resolve"}
"""What pathlib answers with an error for a link in a circle, or a folder that is locked."""
PARSERS = {
    "msgspec.json.decode", "msgspec.json.Decoder", "msgspec.yaml.decode", "msgspec.toml.decode",
    "json.loads", "json.load", "tomllib.loads", "tomllib.load", "ast.parse",
    "yaml.load", "yaml.safe_load", "yaml.full_load", "yaml.compose", "yaml.scan", "yaml.parse",
    "configparser.RawConfigParser", "configparser.ConfigParser",
    "xml.etree.ElementTree.parse", "xml.etree.ElementTree.fromstring",
}  # fmt: skip

ALLOWED = {
    "adapters/analyzers/entries.py": {"msgspec.json.decode"},  # RecursionError is caught
    "adapters/environments/make_environment.py": {"msgspec.json.decode"},  # RecursionError is caught
    "adapters/environments/tree_links.py": {"msgspec.json.decode"},
    "adapters/analyzers/tools/mypy.py": {"configparser.RawConfigParser"},  # it writes one
    "adapters/analyzers/tools/ruff_rules.py": {"msgspec.json.decode"},  # of ruff itself
    "adapters/checks/project_files/tox_files.py": {"configparser.RawConfigParser"},  # as a type
    # The guarded places themselves.
    "model/finding/guarded_text.py": {"msgspec.json.decode", "tomllib.loads", "configparser.RawConfigParser"},
    "model/finding/python_source.py": {"ast.parse"},
    "model/ledger/codec.py": {"msgspec.json.decode"},  # RecursionError is caught
    "model/ledger/verify_ledger.py": {"json.loads"},  # RecursionError is caught
    # Files of our own package.
    "adapters/compare/tables.py": {"tomllib.loads"},
    "cli/commands/demo.py": {"tomllib.loads"},
    "mcp/inputs.py": {"json.loads"},
    "model/finding/word_lists.py": {"tomllib.loads"},
    "model/integrity/canaries.py": {"tomllib.loads"},
    "views/code/highlight.py": {"tomllib.loads"},
    "views/safe_text.py": {"tomllib.loads"},
    "web/api/routes.py": {"tomllib.loads"},
    "workflow/loader.py": {"msgspec.json.decode"},
    # What this process has just encoded.
    "installed.py": {"json.loads"},  # of our own package
    "library/json_values.py": {"msgspec.json.decode"},
    "mcp/server.py": {"msgspec.json.decode"},
}  # fmt: skip
ASKED = [
    "adapters/process/bounded_output.py: _ON_DISK.is_dir()",  # the system's own folder
    "adapters/sandbox/landlock/rules.py: each.is_symlink()",  # an entry that was just listed
    "app/start/demo.py: entry.is_dir()",  # of our own package
]
CHILDREN = ("child_", "restrict.py")
"""Programs that run in the sandbox, and read what we wrote for them."""


def list_uses(tree: ast.Module) -> Iterator[str]:
    """The full names of what is called or handed on, whatever it was imported as."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for name in names:
                    first = name.name.partition(".")[0]
                    known[name.asname or first] = name.name if name.asname else first
            case ast.ImportFrom(module=str(module), names=names):
                known |= {name.asname or name.name: f"{module}.{name.name}" for name in names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            name = ast.unparse(node)
            first, _, rest = name.partition(".")
            if first in known:
                yield f"{known[first]}.{rest}" if rest else known[first]
            elif isinstance(node, ast.Attribute) and node.attr in METHODS:
                yield f".{node.attr}"


def test_no_module_deletes_walks_or_parses_on_its_own():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if path.name.startswith(CHILDREN):
            continue
        uses = set(list_uses(ast.parse(path.read_text("utf-8"))))
        wrong = uses & (FOLDERS | PARSERS | {f".{method}" for method in METHODS})
        if left := wrong - ALLOWED.get(name, set()):
            found[name] = sorted(left)
    assert found == {}, "use adapters/folders and model/finding/guarded_text.py or guarded_yaml.py"


def test_adapters_and_use_cases_ask_no_path_by_a_method_that_may_raise():
    found = []
    for path in (*SOURCE.glob("adapters/**/*.py"), *SOURCE.glob("app/**/*.py")):
        if path.name.startswith(CHILDREN):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr=name), args=[], keywords=[]):
                    if name in RAISING:
                        found.append(f"{path.relative_to(SOURCE)}: {ast.unparse(node)}")
    assert sorted(found) == ASKED, "use adapters/folders/look.py"


def test_every_exception_is_still_needed():
    for name, uses in ALLOWED.items():
        assert uses <= set(list_uses(ast.parse((SOURCE / name).read_text("utf-8")))), name


@pytest.mark.parametrize(
    "source",
    [
        "import shutil\nshutil.rmtree(x)",
        "from shutil import rmtree as gone\ngone(x)",
        "import os as o\nfor _ in o.walk(x): pass",
        "from tempfile import TemporaryDirectory\nwith TemporaryDirectory() as x: pass",
        "stack.callback(path.rglob, '*')",
        "import msgspec\nmsgspec.json.decode(x)",
        "import tomllib as t\nt.loads(x)",
    ],
)
def test_each_spelling_is_seen(source):
    assert set(list_uses(ast.parse(source))) & (FOLDERS | PARSERS | {".rglob"})
