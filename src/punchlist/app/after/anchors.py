"""Find the hashes of ledger entries that commits and issues name."""

from collections.abc import Sequence
from pathlib import Path

from punchlist.adapters.folders.look import is_file
from punchlist.adapters.git.command import decode_text
from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.model.ledger.commit_trailers import LEDGER, Anchor, find_comments, read_trailers

_HINT = "name a commit that punchlist made, a range or branch with one, or an issue's file"


async def find_anchors(session: Session, named: Sequence[str]) -> list[Anchor]:
    """Return the anchors in what the user names: commits, ranges, branches, or files with the text
    of issues. Raises UsageError if one of them has none.
    """
    found: list[Anchor] = []
    for name in named:
        path = Path(name)
        anchors = _read_issue(path) if is_file(path) else await read_commits(session, name)
        if not anchors:
            raise UsageError(f"--against {name}: names no entry of a ledger", hint=_HINT)
        found += anchors
    return found


def choose_run(anchors: Sequence[Anchor], run_id: str) -> str:
    """Return the run that is asked for, or the one that the anchors name. Raises UsageError if they
    name several.
    """
    runs = list(dict.fromkeys(anchor.run for anchor in anchors))
    if run_id or len(runs) == 1:
        return run_id or runs[0]
    raise UsageError(f"these name {len(runs)} runs: {', '.join(runs)}", hint="say which: RUN")


def _read_issue(path: Path) -> list[Anchor]:
    try:
        return find_comments(path.read_text("utf-8", "replace"), str(path))
    except OSError as error:
        raise UsageError(f"--against {path}: cannot be read: {error.strerror}") from error


async def read_commits(session: Session, name: str) -> list[Anchor]:
    """Return the anchors of a range, of a commit, or, if that one has none, of all before it."""
    if ".." in name:
        return await _read_log(session, name)
    return await _read_log(session, "--max-count=1", name) or await _read_log(session, name)


async def _read_log(session: Session, *what: str) -> list[Anchor]:
    git = session.required_checkout.git
    if any(each.startswith("-") for each in what[-1:]):
        raise UsageError(f"--against {what[-1]}: is no commit", hint=_HINT)
    listed = ("log", "-z", "--format=%H%n%B", f"--grep=^{LEDGER}: ")
    ran = await git.run(*listed, *what, "--")
    if not ran.ok:
        raise UsageError(f"--against {what[-1]}: is no commit, range or file", hint=_HINT)
    anchors = []
    for each in filter(bytes.strip, ran.stdout.split(b"\0")):
        commit, _, message = decode_text(each).partition("\n")
        trailers = read_trailers(message)
        if trailers.run and trailers.ledger:
            anchors.append(Anchor(trailers.run, trailers.ledger, commit[:12]))
    return anchors
