"""Issues as Markdown files in a folder: one per item, found again by its fingerprint, with a README
that lists them.
"""

import asyncio
import fcntl
import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from punchlist.adapters.store.atomic_write import write_whole
from punchlist.adapters.store.errors import told
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Status
from punchlist.ports.tracker import Filing
from punchlist.views.issue_text import Dossier
from punchlist.views.safe_text import safe_text

INDEX = "README.md"
_NAME = re.compile(r"(?P<severity>[a-z]+)-(?P<key>[0-9a-zA-Z]{1,16})-[a-z0-9-]*\.md")
_COMMENT = re.compile(r"^<!-- punchlist:fingerprint (\S+) -->$", re.MULTILINE)
_SLUG = re.compile(r"[^a-z0-9]+")
_SLUG_LIMIT = 60
_DISMISSED = "Status: dismissed"
_HEAD = 3
"""Lines: the title, an empty one, and the mark of one that was dismissed."""
_TOP = re.compile(rf"\A(# [^\n]*\n\n)?(?:{_DISMISSED}[^\n]*\n\n)?")


class Head(NamedTuple):
    """What the first lines of an issue say."""

    title: str
    dismissed: bool


class FilesTracker:
    """Open means that the file is there, and not marked dismissed; a person closes an issue by
    deleting it.
    """

    name = "files"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._heads: dict[Path, Head] = {}
        self._fingerprints: dict[Path, str] = {}

    async def file(self, dossiers: Sequence[Dossier]) -> Sequence[Filing]:
        return await asyncio.to_thread(self._file, dossiers)

    def _file(self, dossiers: Sequence[Dossier]) -> list[Filing]:
        try:
            with self._alone():
                known = self._known()
                filings = [self._one(dossier, known) for dossier in dossiers]
                write_whole(self._folder / INDEX, self._index())
        except OSError as error:
            why = str(told(error, self._folder, "written"))
            return [Filing(item=dossier.item.number, failed=why) for dossier in dossiers]
        return filings

    def close(self, fingerprints: Collection[str], by: str, why: str) -> int:
        """Marks issues as dismissed, which takes them off the list of open ones; says how many
        there were.
        """
        return self._marked(fingerprints, f"{_DISMISSED} by {_line(by)}: {_line(why)}\n\n")

    def reopen(self, fingerprints: Collection[str]) -> int:
        """Takes the mark away again."""
        return self._marked(fingerprints, "")

    def _marked(self, fingerprints: Collection[str], mark: str) -> int:
        if not self._folder.is_dir():
            return 0
        try:
            with self._alone():
                known = self._known()
                paths = [known[each] for each in fingerprints if each in known]
                for path in paths:
                    self._mark(path, mark)
                write_whole(self._folder / INDEX, self._index())
        except OSError as error:
            raise told(error, self._folder, "written") from error
        return len(paths)

    def _mark(self, path: Path, mark: str) -> None:
        text = path.read_text(encoding="utf-8", errors="replace")
        marked = _TOP.sub(lambda top: f"{top[1] or ''}{mark}", text, count=1)
        write_whole(path, marked.encode("utf-8", "replace"))
        self._heads.pop(path, None)

    def _one(self, dossier: Dossier, known: dict[str, Path]) -> Filing:
        item = dossier.item
        if item.status is Status.FIXED:
            return Filing(item=item.number, failed="it is fixed; there is nothing to file")
        path = known.get(item.fingerprint)
        if path is None:
            path = (
                self._folder
                / f"{item.severity}-{_key(item.fingerprint)}-{_slug(item.lead.title)}.md"
            )
            try:
                labels = ", ".join(dossier.labels)
                text = f"# {dossier.title}\n\nLabels: {labels}\n\n{dossier.body}"
                write_whole(path, text.encode())
            except OSError as error:
                return Filing(item=item.number, failed=str(told(error, path, "written")))
            known[item.fingerprint] = path
        elif self._head(path).dismissed:
            self._mark(path, "")  # filed again: whoever dismissed it has taken that back
        return Filing(item=item.number, ref=str(path))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two runs that file the same item at once make one issue of it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _known(self) -> dict[str, Path]:
        """Fingerprint -> issue: what counts is the comment in the file; a person may have renamed
        it.
        """
        known: dict[str, Path] = {}
        for path in self._issues():
            if path not in self._fingerprints:
                found = _COMMENT.findall(path.read_text(encoding="utf-8", errors="replace"))
                self._fingerprints[path] = found[-1] if found else ""
            known.setdefault(self._fingerprints[path], path)
        return known

    def _issues(self) -> list[Path]:
        return sorted(
            path for path in self._folder.glob("*.md") if path.name != INDEX and path.is_file()
        )

    def _index(self) -> bytes:
        paths = sorted(self._issues(), key=_reading_order)
        rows = {path: f"- [{_shown(self._head(path).title)}]({path.name})" for path in paths}
        closed = [row for path, row in rows.items() if self._head(path).dismissed]
        opened = [row for path, row in rows.items() if not self._head(path).dismissed]
        head = (
            f"# Open issues\n\n{len(opened)} filed by punchlist. Delete a file to close its"
            " issue.\n"
        )
        rest = ["", "## Dismissed", "", *closed] if closed else []
        return "\n".join([head, *opened, *rest, ""]).encode("utf-8", "replace")

    def _head(self, path: Path) -> "Head":
        if path not in self._heads:
            with path.open(encoding="utf-8", errors="replace") as file:
                lines = list(islice(file, _HEAD))
            first = lines[0].lstrip("# ").strip() if lines else ""
            self._heads[path] = Head(
                first or path.stem, any(line.startswith(_DISMISSED) for line in lines)
            )
        return self._heads[path]


def _reading_order(path: Path) -> tuple[int, str]:
    found = _NAME.fullmatch(path.name)
    ranks = {str(severity): severity.rank for severity in Severity}
    return (ranks.get(found["severity"] if found else "", len(ranks)), path.name)


def _key(fingerprint: str) -> str:
    return re.sub(r"[^0-9a-zA-Z]", "", fingerprint)[:16] or "0"


def _slug(title: str) -> str:
    return _SLUG.sub("-", title.casefold())[:_SLUG_LIMIT].strip("-") or "finding"


def _line(words: str) -> str:
    return " ".join(safe_text(words).split())


def _shown(title: str) -> str:
    return title.replace("[", "\\[").replace("]", "\\]")
