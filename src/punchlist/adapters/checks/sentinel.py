"""A failure planted in every source file of a tree: a check that stays green with it judges something else."""

import secrets
from pathlib import PurePosixPath

from msgspec import Struct

from punchlist.model.check import CheckResult
from punchlist.model.protected import Protected
from punchlist.ports import Tree

_SYNTAX_ERROR = "{nonce} {nonce}\n"  # on one line, because that line is what compilers show
_PLANTS = {
    ".py": 'raise RuntimeError("{nonce}")\n',
    ".rb": 'raise "{nonce}"\n',
    ".rs": 'compile_error!("{nonce}");\n',
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".cxx", ".hpp"), "#error {nonce}\n"),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".go", ".java", ".kt"), _SYNTAX_ERROR),
}
_JUDGES = frozenset({"setup.py", "conftest.py", "noxfile.py", "gulpfile.js", "Gruntfile.js"})
_FEW = 300


class Planted(Struct, frozen=True):
    """The word to look for, and the files that now say it."""

    nonce: str
    files: tuple[str, ...]


def plant(tree: Tree, protected: Protected) -> Planted:
    """Replaces every source that is neither test nor configuration; the whole file, for nothing of it may still work."""
    nonce = f"punchlist_sentinel_{secrets.token_hex(8)}"
    files = [path for path in tree.files() if PurePosixPath(path).suffix in _PLANTS and not _judge(path, protected)]
    for path in files:
        target = tree.root / path
        target.unlink(missing_ok=True)  # a hard link to somebody's cache must not carry the failure there
        target.write_text(_PLANTS[target.suffix].format(nonce=nonce))
    return Planted(nonce, tuple(files))


def judged(planted: Planted, result: CheckResult, text: str) -> str:
    """An empty string if the check went red because of what was planted, else why it is unusable."""
    seen = planted.nonce in text
    if result.green:
        return (
            f"still green with all {len(planted.files)} source files broken: it judges an installed copy, not the work tree"
            if not seen
            else "still green though it met a planted failure: it does not report what fails"
        )
    if seen:
        return ""
    if result.trouble:
        return f"it could not be run: {result.trouble}"
    last = " ".join(result.output.split())[-_FEW:]
    return f"it went red, but not because of the failure planted in {len(planted.files)} source files: ... {last}"


def _judge(path: str, protected: Protected) -> bool:
    return PurePosixPath(path).name in _JUDGES or protected.holds(path)
