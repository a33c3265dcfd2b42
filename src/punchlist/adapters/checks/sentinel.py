"""Plant a failure in every source file of a language: a check that stays green does not test it."""

import secrets
from collections.abc import Sequence

from msgspec import Struct

from punchlist.model.checks.check import CheckResult
from punchlist.model.checks.coverage import FAMILIES, file_kind, find_plantable
from punchlist.model.checks.protected import Protected
from punchlist.ports.tree import Tree

_SYNTAX_ERROR = "{nonce} {nonce}\n"  # on one line, because that line is what compilers show
_PLANTS = {
    **{kind: _SYNTAX_ERROR for family in FAMILIES for kind in family},
    ".py": 'raise RuntimeError("{nonce}")\n',
    ".rb": 'raise "{nonce}"\n',
    ".rs": 'compile_error!("{nonce}");\n',
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".cxx", ".hpp"), "#error {nonce}\n"),
}
_FEW = 300


class SentinelPlant(Struct, frozen=True):
    """The nonce to look for, and the files that contain it."""

    nonce: str
    files: tuple[str, ...]


def plant(tree: Tree, protected: Protected, kinds: Sequence[str]) -> SentinelPlant:
    """Replace every source file of these kinds, except tests and configuration, by a failure."""
    nonce = f"punchlist_sentinel_{secrets.token_hex(8)}"
    plantable = find_plantable(tree.files(), protected)
    files = tuple(path for path in plantable if file_kind(path) in kinds)
    for path in files:
        target = tree.root / path
        # Removed first: through a hard link the failure would get into the user's files.
        target.unlink(missing_ok=True)
        target.write_text(_PLANTS[file_kind(path)].format(nonce=nonce))
    return SentinelPlant(nonce, files)


def judge_result(planted: SentinelPlant, result: CheckResult, text: str) -> str:
    """Return '' if the check failed because of the planted failure, else why it is unusable."""
    seen, files = planted.nonce in text, f"{len(planted.files)} source files"
    if result.green and seen:
        return "still green though it met a planted failure: it does not report what fails"
    if result.green:
        why = "it judges an installed copy, not the work tree"
        return f"still green with all {files} broken: {why}"
    if seen:
        return ""
    if result.trouble:
        return f"it could not be run: {result.trouble}"
    last = " ".join(result.output.split())[-_FEW:]
    return f"it went red, but not because of the failure planted in {files}: ... {last}"
